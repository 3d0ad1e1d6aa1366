import type { JournalEntry } from '../../domain/runs/journal.ts'
import type { Tx } from '../database/tx.ts'

export interface JournalQuery {
  project?: string | undefined
  run?: string | undefined
  /** Not of this run. */
  notRun?: string | undefined
  task?: string | undefined
  notTask?: string | undefined
  /** Ended at this time or later. */
  since?: number | undefined
  /** Only entries with these words (or beginnings of words): all of them, or at least one; the best match first. */
  words?: { list: readonly string[]; need: 'all' | 'any' } | undefined
  limit: number
}

/** Attempts that are over. */
export interface Journal {
  /** Newest first, or with words the best match first. */
  entries(query: JournalQuery, tx?: Tx): Promise<RankedEntry[]>
  /** How many fit, without the limit. */
  count(query: Omit<JournalQuery, 'limit'>, tx?: Tx): Promise<number>
  /** What attempts at these tasks have changed. */
  filesOf(tasks: readonly string[], tx?: Tx): Promise<{ task_id: string; files: string[] }[]>
}

/** `rank`: how well the words fit, the lowest the best; 0 where nobody asked by words. */
export type RankedEntry = JournalEntry & { rank: number }
