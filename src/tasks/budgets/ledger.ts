import type { Clock } from '../../base/clock.ts'
import type { Amounts, BudgetScope } from '../../domain/budget/budget.ts'
import type { SpendingKey, Store, Tx } from '../../store/store.ts'
import type { SpendingRow } from '../../store/tables.ts'
import { dayOf } from './day.ts'
import type { Totals } from './overrun.ts'

/** Who spends. */
export interface Spender {
  id: string
  project: string
  task_id: string | null
}

export interface LedgerParts {
  store: Pick<Store, 'spending'>
  clock: Clock
}

/** The rows in which what a session spends now is counted. */
function keysOf({ id, project, task_id }: Spender, now: number): SpendingKey[] {
  return [
    ...(task_id === null ? [] : [{ scope: 'task', key: task_id } as const]),
    { scope: 'session', key: id },
    { scope: 'day', key: dayOf(now) },
    { scope: 'project', key: project },
  ]
}

/** What is spent so far in everything that a session counts in. */
export async function totalsOf(spender: Spender, { store, clock }: LedgerParts, tx?: Tx): Promise<Totals> {
  const keys = keysOf(spender, clock.now())
  return { ...zeros(keys), ...byScope(await store.spending.of(keys, tx)) }
}

/** Books what was spent, in the caller's transaction, and gives what it comes to: before and after. */
export async function book(
  spender: Spender,
  amounts: Amounts,
  { store, clock, tx }: LedgerParts & { tx: Tx },
): Promise<{ before: Totals; after: Totals }> {
  const at = clock.now()
  const after = byScope(await store.spending.add(keysOf(spender, at), { amounts, at }, tx))
  const before = Object.fromEntries(
    Object.entries(after).map(([scope, total]) => [scope, less(total, amounts)]),
  ) as Totals
  return { before, after }
}

function byScope(rows: SpendingRow[]): Totals {
  return Object.fromEntries(rows.map(({ scope, key: _, updated_at: __, ...amounts }) => [scope, amounts]))
}

function zeros(keys: SpendingKey[]): Totals {
  const nothing: Amounts = { turns: 0, tokens: 0, cost_usd: 0, wall_minutes: 0 }
  return Object.fromEntries(keys.map(({ scope }): [BudgetScope, Amounts] => [scope, nothing]))
}

function less(a: Amounts, b: Amounts): Amounts {
  return {
    turns: a.turns - b.turns,
    tokens: a.tokens - b.tokens,
    cost_usd: a.cost_usd - b.cost_usd,
    wall_minutes: a.wall_minutes - b.wall_minutes,
  }
}
