"""Records -> change rows of all tables of a batch.

records, operations            what records change, and how many rows each makes
runs                           the rows of a batch, by table, with their metadata
images, columns, key_only      the values of rows, from images in JSON and from columns
coding, conversion             values of each type, converted with all others of it
without_form                   values that their type in messages does not have
"""
