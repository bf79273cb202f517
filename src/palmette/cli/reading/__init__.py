"""From files and options to problems: tables, their columns, and what models are made of."""
