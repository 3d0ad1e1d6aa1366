import type { AppError } from '../../base/errors.ts'
import type { Places } from '../../base/places.ts'
import type { Config } from '../../domain/config/config.ts'
import type { Client } from '../client.ts'

/** What one look came to. `mend` says what to do about it; a warning may be lived with. */
export interface Finding {
  area: string
  level: 'ok' | 'warning' | 'problem'
  says: string
  mend?: string
}

/** What every check works with. */
export interface Patient {
  places: Places
  env: Record<string, string | undefined>
  now: number
  /** The settings, where they can be read. */
  config: Config | undefined
  /** The daemon, where one answers. */
  client: Client | undefined
  /** One that is there and gives no answer. */
  silent: AppError | undefined
}

export type Check = (patient: Patient) => Finding[] | Promise<Finding[]>

export const ok = (area: string, says: string): Finding => ({ area, level: 'ok', says })
export const warning = (area: string, says: string, mend: string): Finding => ({ area, level: 'warning', says, mend })
export const problem = (area: string, says: string, mend: string): Finding => ({ area, level: 'problem', says, mend })
