import type { Places } from '../../base/places.ts'
import type { StartSession } from '../../domain/api.ts'
import type { Budgets } from '../../domain/budget/budget.ts'
import type { Config } from '../../domain/config/config.ts'
import { loadConfig } from '../../domain/config/load.ts'
import { trustedFile, trustStatus } from '../../policy/trust.ts'
import { callersSettings } from './callers-settings.ts'

/** The bounds of a session: those of the settings, and in their place what its person said when they started it. */
export function budgetsIn({ budgets }: Config, { budget }: Pick<StartSession, 'budget'> = {}): Budgets {
  return { ...budgets, session: { ...budgets.session, ...budget } }
}

/** Money moves at the end of a turn only, unless somebody wants to know before. */
export function hasMoneyBound(budgets: Budgets): boolean {
  return Object.values(budgets).some(({ cost_usd }) => cost_usd !== undefined)
}

export interface BudgetsOf {
  places: Places
  env: Record<string, string | undefined>
}

/** The bounds in force for a project, or for one of its sessions under the settings it was started with. */
export async function budgetsOf(
  { project, options }: { project?: string; options?: Pick<StartSession, 'budget' | 'config' | 'settings'> },
  own: BudgetsOf,
): Promise<Budgets> {
  const { places, env } = callersSettings(options ?? {}, own)
  const trust = project === undefined ? undefined : await trustStatus(places, project).catch(() => undefined)
  // A project that is gone has no file of its own any more.
  const of = trust && { project, trusted: trustedFile(trust) }
  const { config } = await loadConfig({ places, env, ...of })
  return budgetsIn(config, options)
}
