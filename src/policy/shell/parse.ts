import { parse } from 'unbash'
import { convert } from './convert.ts'
import type { Reading } from './tree.ts'

/** Reads a command as bash would, or says where it could not. Never throws: whatever goes wrong is an error of the reading. */
export function parseShell(source: string): Reading {
  try {
    return convert(parse(source), source)
  } catch (error) {
    const message = error instanceof Error ? error.message : 'the parser failed'
    return { script: { at: [0, source.length], body: [] }, errors: [{ message, at: [0, source.length] }] }
  }
}
