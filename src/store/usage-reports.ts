import type { Kysely } from 'kysely'
import type { QuotaSource } from '../domain/quota.ts'
import type { Tables } from './tables.ts'

/** An account as people know it, and where its agent keeps its files. None of it is secret. */
export interface QuotaAccount {
  account: string
  label: string
  place: CcusageEnv | null
  updated_at: number
}

/** The variables of the agent's environment that `ccusage` needs to find its files. */
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

/** How much of the history is kept. */
export interface QuotaHistoryRetention {
  forgetBefore: number
  forgetAfter: number
  thinBefore: number
  stepMs: number
}

/** One usage report of an agent: totals since that agent was started. */
export interface UsageReport {
  time: number
  input_tokens: number
  output_tokens: number
  cache_write_tokens: number
}

/** The reports of one session in order; `base` is the last one before the requested time. */
export interface SessionUsageReports {
  base: UsageReport | undefined
  reports: UsageReport[]
}

/** Reports per read; a busy hour has some hundreds. */
const PAGE = 200

/** The usage reports of an account's sessions since a time. */
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
  return Promise.all(sessions.map(({ id }) => readSessionReports(db, id, since)))
}

/** Reads from the newest report backwards, so that a long session is not read completely for its last hour. */
async function readSessionReports(db: Kysely<Tables>, subject: string, since: number): Promise<SessionUsageReports> {
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
      const report = parseReport(time, body)
      if (report && time < since) return { base: report, reports }
      if (report) reports.unshift(report)
    }
    before = rows.at(-1)?.id ?? 0
    if (rows.length < PAGE) return { base: undefined, reports }
  }
}

/** Returns undefined for a damaged report. */
function parseReport(time: number, body: string): UsageReport | undefined {
  try {
    const report = JSON.parse(body) as Partial<UsageReport>
    const { input_tokens = 0, output_tokens = 0, cache_write_tokens = 0 } = report
    return { time, input_tokens, output_tokens, cache_write_tokens }
  } catch {
    return undefined
  }
}
