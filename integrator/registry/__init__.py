"""The schema registry: schemas -> ids, once, on the driver.

client       registers schemas and resolves their ids
compatible   why a new schema cannot be read by consumers of the one before
"""
