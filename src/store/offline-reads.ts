import { existsSync } from 'node:fs'
import type { EventBody, EventKind } from '../domain/event.ts'
import { parseAnswer } from './answers.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { inspectFile, SCHEMA } from './sqlite-file.ts'
import type { AnswerStore } from './store.ts'
import type { AnswersTable } from './tables.ts'

// Commands that a person waits for read these, so nothing is imported that builds queries or parses schemas.

export type RememberedAnswers = Pick<AnswerStore, 'find'> & Disposable

/** Reads remembered answers without a daemon. The file is opened on the first call, is only read, and may be missing. */
export function openRememberedAnswers(file: string): RememberedAnswers {
  let opened: Promise<OpenedAnswers | undefined> | undefined
  return {
    async find(project, fingerprint) {
      opened ??= open(file)
      return (await opened)?.find(project, fingerprint)
    },
    [Symbol.dispose]() {
      opened?.then(answers => answers?.close()).catch(() => undefined) // a file that could not be opened need not be closed
    },
  }
}

interface OpenedAnswers {
  find: AnswerStore['find']
  close(): void
}

async function open(file: string): Promise<OpenedAnswers | undefined> {
  if (!existsSync(file)) return undefined
  await inspectFile(file, SCHEMA)
  const connection = new SqliteConnection(file, { readOnly: true })
  // A file of an older program, or one that was just created, has no such table yet.
  if (connection.rows("select 1 from sqlite_master where name = 'answers'", []).length > 0)
    return { find: async (...key) => findAnswer(connection, key), close: () => connection.close() }
  connection.close()
  return undefined
}

function findAnswer(connection: SqliteConnection, [project, fingerprint]: Parameters<AnswerStore['find']>) {
  const rows = connection.rows('select * from answers where project = ? and fingerprint = ?', [project, fingerprint])
  const [row] = rows as AnswersTable[]
  return row && parseAnswer(row)
}

/** How many sessions have ended, and of how many no event of these kinds came after a place. Undefined without a file. */
export async function countSessionsUpTo(
  file: string,
  place: number,
  kinds: readonly EventKind[],
): Promise<{ sessions: number; recorded: number } | undefined> {
  if (!existsSync(file)) return undefined
  await inspectFile(file, SCHEMA)
  const connection = new SqliteConnection(file, { readOnly: true })
  try {
    const [row] = connection.rows(
      `select count(*) as sessions, coalesce(sum(not exists (select 1 from events where subject = sessions.id and id > ? and
         kind in (${kinds.map(() => '?').join(', ')}))), 0) as recorded from sessions where state = 'ended'`,
      [place, ...kinds],
    )
    return row as { sessions: number; recorded: number }
  } finally {
    connection.close()
  }
}

/** A decided request, with everything that is needed to decide it again. */
export interface RecordedRequest {
  time: number
  session: string
  project: string
  allowedTools: string[]
  request: EventBody<'tool.requested'>
  decided: EventBody<'permission.decided'>
}

/** Requests per read. */
const PAGE = 500

/** Decided requests since a time, oldest first. The file is only read: a daemon may write meanwhile, but need not run. */
export async function* readRecordedRequests(file: string, since: number): AsyncGenerator<RecordedRequest> {
  if (!existsSync(file)) return
  await inspectFile(file, SCHEMA)
  const connection = new SqliteConnection(file, { readOnly: true })
  try {
    let after = 0
    for (;;) {
      const rows = connection.rows(SELECT_DECIDED, [since, after, PAGE]) as Row[]
      for (const row of rows) {
        const recorded = fromRow(row)
        if (recorded) yield recorded
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) return
      after = last.id
    }
  } finally {
    connection.close()
  }
}

interface Row {
  id: number
  time: number
  session: string
  project: string
  options: string
  request: string | null
  decided: string
}

/** The request of a call comes before its decision in the same session; if a call id occurs twice, the newest request counts. */
const SELECT_DECIDED = `
    select decided.id, decided.time, decided.subject as session, sessions.project, sessions.options,
           decided.body as decided,
           (select requested.body from events as requested
             where requested.subject = decided.subject and requested.id < decided.id
               and requested.kind = 'tool.requested'
               and case when json_valid(requested.body) and json_valid(decided.body)
                   then json_extract(requested.body, '$.call_id') = json_extract(decided.body, '$.call_id') end
             order by requested.id desc limit 1) as request
      from events as decided join sessions on sessions.id = decided.subject
     where decided.kind = 'permission.decided' and decided.time >= ? and decided.id > ?
     order by decided.id limit ?`

function fromRow({ time, session, project, options, request, decided }: Row): RecordedRequest | undefined {
  try {
    if (request === null) return undefined
    const body = JSON.parse(request) as EventBody<'tool.requested'>
    const { allowed_tools } = JSON.parse(options) as { allowed_tools?: string[] }
    const allowedTools = allowed_tools ?? []
    return { time, session, project, allowedTools, request: body, decided: JSON.parse(decided) }
  } catch {
    return undefined // the row is damaged, so there is nothing to decide again
  }
}
