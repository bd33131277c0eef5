"""The functional core: values in, values out."""
