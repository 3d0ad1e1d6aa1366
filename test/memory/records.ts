import type { MemoryReader, NewRecord } from '../../src/domain/memory.ts'
import { newRecord } from '../../src/domain/memory.ts'

/** A reader that stands for a person, and sees all. */
export const PERSON: MemoryReader = { agent: 'person', role: null, session: null, projects: [], now: 0 }

/** A reader that stands for an agent in a session of one project. */
export function agentReader(fields: Partial<MemoryReader> = {}): MemoryReader {
  return { agent: 'claude', role: null, session: 's-000001', projects: ['git-a'], now: 1_000, ...fields }
}

type FactFields = Partial<Extract<NewRecord, { kind: 'fact' }>>

/** A fact of a project, as a person wrote it. */
export function fact(text: string, fields: FactFields = {}) {
  return newRecord({
    kind: 'fact',
    time: 1_000,
    scope: 'project',
    of: 'git-a',
    actor: 'person',
    authority: 'person',
    category: 'convention',
    subject: text.slice(0, 100),
    text,
    source: 'a person',
    about: [],
    ...fields,
  } as NewRecord)
}
