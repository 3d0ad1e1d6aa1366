import type { Kysely } from 'kysely'
import type { QuotaSource } from '../domain/quota.ts'
import type { Tables } from './tables.ts'

/** An account as people know it, and where its agent keeps its files. Nothing of it is secret. */
export interface QuotaAccount {
  account: string
  label: string
  place: CcusageEnv | null
  updated_at: number
}

/** What `ccusage` needs of the agent's environment to find its files. */
export type CcusageEnv = {
  HOME?: string | undefined
  PATH?: string | undefined
  CLAUDE_CONFIG_DIR?: string | undefined
}

/** One point of the history. */
export interface QuotaHistoryKey {
  account: string
  window: string
  source: QuotaSource
  at: number
}

export type QuotaHistoryQuery = Omit<QuotaHistoryKey, 'at'> & { since: number }

/** What is kept of the history. */
export interface QuotaHistoryRetention {
  forgetBefore: number
  forgetAfter: number
  thinBefore: number
  stepMs: number
}

/** What was used in a session, in one report of its agent: totals since that agent was opened. */
export interface UsageReport {
  time: number
  input_tokens: number
  output_tokens: number
  cache_write_tokens: number
}

/** The reports of one session in order; `base` is the last one before the time asked for. */
export interface SessionUsageReports {
  base: UsageReport | undefined
  reports: UsageReport[]
}

/** Reports read at once when looking back; a busy hour has some hundreds. */
const PAGE = 200

/** What the sessions of an account reported since a time. */
export async function readUsageReports(
  db: Kysely<Tables>,
  account: string,
  since: number,
): Promise<SessionUsageReports[]> {
  const sessions = await db
    .selectFrom('sessions')
    .select('id')
    .where('account', '=', account)
    .where(({ eb, or }) => or([eb('ended_at', 'is', null), eb('ended_at', '>=', since)]))
    .execute()
  return Promise.all(sessions.map(({ id }) => reportsOf(db, id, since)))
}

/** Read from the newest backwards: a long session must not be read whole for its last hour. */
async function reportsOf(db: Kysely<Tables>, subject: string, since: number): Promise<SessionUsageReports> {
  const reports: UsageReport[] = []
  for (let before = Number.MAX_SAFE_INTEGER; ; ) {
    const rows = await db
      .selectFrom('events')
      .select(['id', 'time', 'body'])
      .where('subject', '=', subject)
      .where('kind', '=', 'usage.reported')
      .where('id', '<', before)
      .orderBy('id', 'desc')
      .limit(PAGE)
      .execute()
    for (const { time, body } of rows) {
      const report = reportIn(time, body)
      if (report && time < since) return { base: report, reports }
      if (report) reports.unshift(report)
    }
    before = rows.at(-1)?.id ?? 0
    if (rows.length < PAGE) return { base: undefined, reports }
  }
}

/** A damaged one is left out. */
function reportIn(time: number, body: string): UsageReport | undefined {
  try {
    const told = JSON.parse(body) as Partial<UsageReport>
    const { input_tokens = 0, output_tokens = 0, cache_write_tokens = 0 } = told
    return { time, input_tokens, output_tokens, cache_write_tokens }
  } catch {
    return undefined
  }
}
