"""Switch statements out of assembly (section 4.5 of the paper): C programs, gcc, tokens, data.

In the order in which data pass through them: `program` draws C functions as syntax trees (`tree`
builds their nodes), `canonical` brings them into the one form that stands for their assembly,
`ctokens` writes that form as tokens and text, `compiler` runs gcc, `assembly` cuts and lexes what
gcc wrote, `generate` makes whole data sets of it in parallel, and `dataset` stores and reads them.
"""
