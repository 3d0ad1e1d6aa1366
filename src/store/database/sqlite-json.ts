import type { JsonDifferences } from './database.ts'

/** How SQLite writes JSON. What one function gives the next takes as JSON; a text is made JSON by `json`. */
export const sqliteJson: JsonDifferences = {
  object: fields =>
    `json_object(${Object.entries(fields)
      .map(([name, expression]) => `'${name}', ${expression}`)
      .join(', ')})`,
  list: (column, from) =>
    `(select json_group_array(${column}) from (select ${column} from ${from} order by ${column}))`,
  // Words hold neither quotes nor backslashes.
  words: column => whenNotEmpty(column, `'["' || replace(trim(${column}), ' ', '","') || '"]'`),
  // A delete character stands for the line break meanwhile: JSON does not escape it, and no text that came in holds one.
  lines: column =>
    whenNotEmpty(
      column,
      `'[' || replace(json_quote(replace(${column}, char(10), char(127))), char(127), '","') || ']'`,
    ),
  parsed: column => `json(${column})`,
}

function whenNotEmpty(column: string, list: string): string {
  return `json(case ${column} when '' then '[]' else ${list} end)`
}
