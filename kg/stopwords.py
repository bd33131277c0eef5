"""Words that say nothing about the subject of a prompt, in English and Russian.

Forms that stem alike stand here once in any form. Words that name things in programs (test, file, error, if, for) are
missing on purpose unless prose is full of them: a rare word too many costs less than a silent recall.
"""

ENGLISH = """
a about above actually after again all almost also although always am an and another any anybody anyone anything are
aren around as ask at away
back be because been before being below between both but by
came can cannot could couldn
did didn do does doesn doing don done down during
each either else enough even ever every everybody everyone everything
few find for from further
gave get gets getting give given go goes going gone good got
had has hasn have haven having he hello help her here hers herself hey hi him himself his how however
i if in into is isn it its itself
just
keep kind know
least less let lets like ll look lot
made make makes many may maybe me might mine more most much must my myself
need needs neither never no nobody none nor not nothing now
of off often ok okay on once one only onto or other our ours ourselves out over own
perhaps please put
quite
rather re really right
said same say see seem seems shall she should shouldn show since so some somebody someone something still such sure
take tell than thank thanks that the their theirs them themselves then there these they thing things think this those
though through thus to together too toward tried try trying two
under until up upon us use used uses using usually
ve very via
want wants was wasn way we well went were weren what whatever when where whether which while who whole whom whose why
will with within without won would wouldn
yes yet you your yours yourself
"""

RUSSIAN = """
а без более больше будем будет будете будешь буду будут будь бы был была были было быть
в вам вами вас ваш ваша ваше ваши весь во вот все всего всегда всех всё вы
где говорит
да давай давайте даже для до должен должна должно другой другая другие
его ему если есть ещё еще ею её ей
ж же
за затем здесь знаю
и из или им ими иногда их
к как какая какие какой каких когда конечно который которая которое которые кто куда
ли либо лишь
меня мне много мной могу может можно можешь мои мой моя моё мы
на над надо нам нами нас наш наша наше наши не него неё ней нет нечего ни них нибудь никогда никто ничего но ну
нужен нужна нужно нужны
о об один одна одно однако около он она они оно опять от очень
перед по под пожалуйста пока помоги после потом потому почему почти при привет про просто пусть
раз разве
с сам сама сами само свой своя своё свои сделай сделать себе себя сейчас скажи сколько снова со совсем спасибо
та так такая такие такой там тебе тебя тем теперь то тобой тогда тоже той только том тот ту тут ты
у уж уже
хорошо хотел хочу хотя
чего чей чем через что чтобы чуть
эта эти этим этих это этого этой этом этому этот эту
я
"""
