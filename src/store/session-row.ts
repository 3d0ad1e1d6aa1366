import type { SessionRow, SessionsTable } from './tables.ts'

/** A session's row with its JSON parsed. A damaged value becomes an empty one, so that the session stays listable. */
export function fromSessionRow(row: SessionsTable): SessionRow {
  return {
    ...row,
    options: parseJson(row.options) ?? { project: row.project, task: row.task },
    plan: parseJson(row.plan) ?? [],
    parked: row.parked === null ? null : (parseJson(row.parked) ?? null),
  }
}

/** The columns of a complete session. */
export function toSessionColumns(row: SessionRow): SessionsTable
/** The columns of a partial change. */
export function toSessionColumns(row: Partial<SessionRow>): Partial<SessionsTable>
export function toSessionColumns({ options, plan, parked, ...plain }: Partial<SessionRow>): Partial<SessionsTable> {
  return {
    ...plain,
    ...(options && { options: JSON.stringify(options) }),
    ...(plan && { plan: JSON.stringify(plan) }),
    ...(parked !== undefined && { parked: parked && JSON.stringify(parked) }),
  }
}

function parseJson<T>(text: string): T | undefined {
  try {
    return JSON.parse(text) as T
  } catch {
    return undefined // damaged outside of the program
  }
}
