import type { Kysely } from 'kysely'
import { shortId } from '../base/ids.ts'
import type { RememberedAnswer } from '../domain/remembered-answer.ts'
import type { AnswerFilter, AnswerStore, NewAnswer } from './store.ts'
import type { AnswersTable, Tables } from './tables.ts'
import type { Writer } from './writer.ts'

/** Opens the table of remembered answers. */
export function openAnswerStore(read: Kysely<Tables>, writer: Writer): AnswerStore {
  return {
    put: (answer, tx) => (tx ? put(tx.db, answer) : writer.transaction(own => put(own.db, answer))),
    find: findAnswer(read),
    list: filter => list(read, filter),
    forget: id =>
      writer.transaction(async ({ db }) => {
        const { numDeletedRows } = await db.deleteFrom('answers').where('id', '=', id).executeTakeFirst()
        return numDeletedRows === 1n
      }),
  }
}

function findAnswer(read: Kysely<Tables>): AnswerStore['find'] {
  return async (project, fingerprint) => {
    const row = await read
      .selectFrom('answers')
      .selectAll()
      .where('project', '=', project)
      .where('fingerprint', '=', fingerprint)
      .executeTakeFirst()
    return row && parseAnswer(row)
  }
}

async function put(db: Kysely<Tables>, { answer, lasting, ...plain }: NewAnswer): Promise<void> {
  const id = await findFreeId(db)
  const row = { ...plain, id, answer: answer === null ? null : JSON.stringify(answer), lasting: lasting ? 1 : 0 }
  await db
    .insertInto('answers')
    .values(row)
    .onConflict(same => same.columns(['project', 'fingerprint']).doUpdateSet(row))
    .execute()
}

/** Six hex digits collide now and then. */
async function findFreeId(db: Kysely<Tables>): Promise<string> {
  for (;;) {
    const id = shortId('a')
    const taken = await db.selectFrom('answers').select('id').where('id', '=', id).executeTakeFirst()
    if (!taken) return id
  }
}

async function list(db: Kysely<Tables>, { kind, project, limit }: AnswerFilter = {}): Promise<RememberedAnswer[]> {
  let select = db.selectFrom('answers').selectAll()
  if (kind !== undefined) select = select.where('kind', '=', kind)
  if (project !== undefined) select = select.where('project', 'in', [project, ''])
  if (limit !== undefined) select = select.limit(limit)
  return (await select.orderBy('answered_at', 'desc').orderBy('id').execute()).map(parseAnswer)
}

/** A damaged row answers nothing, but stays in the list so that it can be removed. */
export function parseAnswer({ verdict, answer, lasting, kind, ...row }: AnswersTable): RememberedAnswer {
  const plain = { ...row, lasting: lasting === 1 }
  if (kind === 'question') return { ...plain, kind, verdict: null, answer: parseText(answer) }
  return { ...plain, kind: 'permission', verdict: verdict === 'allow' ? 'allow' : 'deny', answer: null }
}

function parseText(json: string | null): string | string[] {
  try {
    const value: unknown = JSON.parse(json ?? '')
    if (typeof value === 'string') return value
    return Array.isArray(value) ? value.map(String) : []
  } catch {
    return []
  }
}
