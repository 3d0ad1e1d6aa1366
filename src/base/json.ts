/** JSON in a column of the store. The field is never there: it marks the column, so that a table of them can be asked for by the compiler. */
export type StoredJson = string & { readonly _holds?: 'json' }

/** Parses JSON; undefined if the text is cut short, damaged, or something else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // the caller says what it means
  }
}

/** Whether a value is an object with fields: not null and not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
