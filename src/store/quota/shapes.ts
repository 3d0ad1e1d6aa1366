import type { QuotaSource } from '../../domain/account/quota.ts'

/** An account as people know it, and where its agent keeps its files. Nothing of it is secret. */
export interface QuotaAccount {
  account: string
  label: string
  place: QuotaPlace | null
  updated_at: number
}

/** What `ccusage` needs of the agent's environment to find its files. */
export type QuotaPlace = {
  HOME?: string | undefined
  PATH?: string | undefined
  CLAUDE_CONFIG_DIR?: string | undefined
}

/** One point of the history. */
export interface HistoryKey {
  account: string
  window: string
  source: QuotaSource
  at: number
}

export type HistoryQuery = Omit<HistoryKey, 'at'> & { since: number }

/** What is kept of the history. */
export interface ThinTimes {
  forgetBefore: number
  forgetAfter: number
  thinBefore: number
  stepMs: number
}
