import type { QuotaBook } from '../../agents/quota/quota.ts'
import { isCurrent } from '../../domain/account/quota.ts'
import type { StartRun } from '../../domain/runs/run.ts'
import { type Floor, prepareFor } from '../floor.ts'
import { runSettings } from '../runs/run-settings.ts'
import type { Runs } from '../runs/runs.ts'
import type { PrepareParts } from '../start/preparation.ts'
import { Calendar } from './calendar.ts'

/** The calendar of a floor: what is due becomes a run. */
export function openCalendar(
  floor: Floor,
  options: PrepareParts & { agentEnv: Record<string, string>; quota: Pick<QuotaBook, 'windows'> },
  runs: Runs,
): Calendar {
  const { kept, log } = floor
  const { store, clock } = floor.parts
  return new Calendar({
    ...{ store, clock, log, kept, agentEnv: options.agentEnv },
    keepsEnvironment: async run => (await runSettings(run, options)).keepEnvironment,
    start: (request, also) => runs.start(request, also),
    fullness: async ({ project, env, config, settings }: StartRun) => {
      const { account } = await prepareFor({ project, task: '', env, config, settings }, floor)
      const windows = account === undefined ? [] : await options.quota.windows(account)
      const now = clock.now()
      // Our own count is a guess, and what nobody knows holds nothing back (docs/adr/0012).
      const told = windows.filter(one => one.source !== 'estimate' && isCurrent(one, now))
      return told.length === 0 ? undefined : Math.max(...told.map(({ utilization }) => utilization))
    },
  })
}
