import * as z from 'zod'

/** How a run ended. */
export const RunOutcome = z.enum(['complete', 'failure', 'limit_reached', 'blocked', 'no_plan', 'interrupted'])
export type RunOutcome = z.infer<typeof RunOutcome>

/** What the command that started it exits with. */
export const RUN_EXITS: Record<RunOutcome, number> = {
  complete: 0,
  failure: 1,
  blocked: 3,
  no_plan: 3,
  limit_reached: 4,
  interrupted: 130,
}
