import type { QuotaWindow } from '../../domain/account/quota.ts'
import type { SessionReports, UsageReport } from '../../store/quota/spending.ts'

/** The stretch that `quota.max_tokens_per_hour` is about. */
export const ESTIMATE_MS = 3_600_000

/**
 * How full the last hour is by what our own sessions reported. It knows nothing of what else uses the account and nothing of
 * the vendor's windows, so it is only a warning. Reading from the cache is left out: vendors count it little or not at all.
 */
export function estimateOf(sessions: readonly SessionReports[], maxTokensPerHour: number, now: number): QuotaWindow {
  const tokens = sessions.reduce((sum, { base, reports }) => sum + spentIn(reports, base), 0)
  return { window: 'hour', utilization: tokens / maxTokensPerHour, resets_at: null, source: 'estimate', at: now }
}

/** Reports are totals: what counts is by how much each field grew. One that fell began anew, with a new agent. */
function spentIn(reports: readonly UsageReport[], base: UsageReport | undefined): number {
  let [spent, before] = [0, base]
  for (const report of reports) {
    for (const field of FIELDS) spent += grown(before?.[field] ?? 0, report[field])
    before = report
  }
  return spent
}

const FIELDS = ['input_tokens', 'output_tokens', 'cache_write_tokens'] as const

function grown(before: number, after: number): number {
  return after < before ? after : after - before
}
