import { type Kysely, type RawBuilder, type SqlBool, sql } from 'kysely'
import { agentsOf, type RestingAgent } from '../domain/agent-choice.ts'
import type { JournalEntry } from '../domain/attempt.ts'
import type { DialectDifferences, WordIndex } from './database.ts'
import type { Tables } from './tables.ts'
import type { JournalQuery, JournalStore, RankedJournalEntry } from './task-stores.ts'

const WORD_INDEX: WordIndex = {
  name: 'journal_words',
  table: 'attempts',
  keys: ['task_id', 'number'],
  columns: ['title', 'notes', 'reason', 'files'],
  once: 'outcome',
}

/** Opens the journal: attempts that are over, by run, task, time and words. */
export function openJournalStore(read: Kysely<Tables>, differences: DialectDifferences): JournalStore {
  const from = (query: Omit<JournalQuery, 'limit'>) => {
    const matches = query.words && differences.foundByWords(WORD_INDEX, query.words.list, query.words.need)
    const joined = sql`attempts a join runs r on r.id = a.run_id left join sessions s on s.id = a.session_id`
    const matching = matches
      ? sql`${joined} join ${matches} w on w.task_id = a.task_id and w.number = a.number`
      : sql`${joined}`
    return sql`${matching} where ${sql.join(conditions(query), sql` and `)}`
  }
  return {
    entries: async (query, tx) => {
      if (query.words?.list.length === 0) return []
      const rank = query.words ? sql`w.rank` : sql`0`
      const rows = sql<EntryRow>`
        select a.run_id, r.project, a.iteration, a.task_id, a.number, a.title, a.feature, a.session_id, a.outcome, a.reason,
          coalesce(s.model, a.model) as model, s.agent, s.options, a.ended_at - a.started_at as duration_ms, a.cost_usd, a.files, a.files_more,
          a.notes, a.started_at, a.ended_at, ${rank} as rank
        from ${from(query)} order by rank, a.ended_at desc, a.iteration desc limit ${query.limit}`
      return (await rows.execute(tx?.db ?? read)).rows.map(fromRow)
    },
    count: async (query, tx) => {
      if (query.words?.list.length === 0) return 0
      const counted = sql<{ count: number }>`select count(*) as count from ${from(query)}`
      return Number((await counted.execute(tx?.db ?? read)).rows[0]?.count ?? 0)
    },
    filesOf: async (tasks, tx) => {
      const changed: { task_id: string; files: string[] }[] = []
      for (let from = 0; from < tasks.length; from += IDS_AT_ONCE) {
        const batch = tasks.slice(from, from + IDS_AT_ONCE)
        const ended = (tx?.db ?? read)
          .selectFrom('attempts')
          .select(['task_id', 'files'])
          .where('outcome', 'is not', null)
        const rows = await ended.where('task_id', 'in', batch).orderBy('ended_at').execute()
        changed.push(...rows.map(({ task_id, files }) => ({ task_id, files: parseList(files) })))
      }
      return changed
    },
  }
}

/** A database may refuse a statement with many more variables. */
const IDS_AT_ONCE = 500

type EntryRow = Omit<JournalEntry, 'files' | 'agents'> & {
  files: string
  rank: number
  agent: string | null
  options: string | null
}

function conditions({ project, run, task, since }: Omit<JournalQuery, 'limit'>): RawBuilder<SqlBool>[] {
  const given: [RawBuilder<SqlBool>, unknown][] = [
    [sql`r.project = ${project}`, project],
    [sql`a.run_id = ${run}`, run],
    [sql`a.task_id = ${task}`, task],
    [sql`a.ended_at >= ${since}`, since],
  ]
  return [
    sql`a.outcome is not null`,
    ...given.filter(([, value]) => value !== undefined).map(([condition]) => condition),
  ]
}

function fromRow({ files, rank, agent, options, ...plain }: EntryRow): RankedJournalEntry {
  const agents = agent === null ? [] : agentsOf(agent, parseHandOver(options))
  return { ...plain, agents, files: parseList(files), rank: Number(rank) }
}

/** The part of the options that names the earlier agents of the session. A row that was rescued from a damaged file may have none. */
function parseHandOver(options: string | null): { resting: RestingAgent[] } | undefined {
  try {
    const { handed } = JSON.parse(options ?? '{}')
    return Array.isArray(handed?.resting) ? handed : undefined
  } catch {
    return undefined
  }
}

/** Parses a JSON list of texts. A row that was rescued from a damaged file may hold anything. */
function parseList(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) ? list.filter(item => typeof item === 'string') : []
  } catch {
    return []
  }
}
