"""What makes files of this repository: indexes, tables, pictures, PTX."""
