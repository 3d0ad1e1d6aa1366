import { optionalAmount, optionalCount, type Setting } from '../setting.ts'

type Amount = number | undefined

/** A bound where there was none is stricter; of two the lower. */
const lower = (held: Amount, proposed: Amount) =>
  held === undefined ? proposed : proposed === undefined ? held : Math.min(held, proposed)

const bound = (about: string) => ({
  standard: undefined,
  about,
  project: 'tighten' as const,
  tighten: lower,
  inForce: true,
})

const turns = (of: string) => optionalCount(1, bound(`Most rounds with the model ${of}`))
const tokens = (of: string) => optionalCount(1, bound(`Most tokens ${of}; reading from the cache is left out`))
const money = (of: string) => optionalAmount(bound(`Most US dollars ${of}, as the agent counts them`))
const time = (of: string) => optionalCount(1, bound(`Most minutes at work ${of}; waiting is left out`))

/** What may be spent, and what stops a session that runs away. */
export const BUDGET_SETTINGS = {
  'budgets.task.turns': turns('for one task'),
  'budgets.task.tokens': tokens('for one task'),
  'budgets.task.cost_usd': money('for one task'),
  'budgets.task.wall_minutes': time('for one task'),
  'budgets.session.turns': turns('in one session'),
  'budgets.session.tokens': tokens('in one session'),
  'budgets.session.cost_usd': money('in one session'),
  'budgets.session.wall_minutes': time('in one session'),
  'budgets.day.turns': turns('on one day, in all sessions'),
  'budgets.day.tokens': tokens('on one day, in all sessions'),
  'budgets.day.cost_usd': money('on one day, in all sessions'),
  'budgets.day.wall_minutes': time('on one day, in all sessions'),
  'budgets.project.turns': turns('in one project, until `pcc budget reset`'),
  'budgets.project.tokens': tokens('in one project, until `pcc budget reset`'),
  'budgets.project.cost_usd': money('in one project, until `pcc budget reset`'),
  'budgets.project.wall_minutes': time('in one project, until `pcc budget reset`'),
} as const satisfies Record<string, Setting>
