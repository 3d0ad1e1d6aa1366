import type { OpenSession } from '../domain/session.ts'

const READERS = new Set(['Read', 'Grep', 'Glob', 'LS', 'NotebookRead'])

/** A session that was given tools and none that writes. */
export function isReadOnly({ tools }: Pick<OpenSession, 'tools'>): boolean {
  return tools?.every(tool => READERS.has(tool)) ?? false
}
