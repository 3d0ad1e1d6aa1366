import { AppError } from '../../base/errors.ts'
import type { Budgets } from '../../domain/budget/budget.ts'
import type { Tx } from '../../store/store.ts'
import type { SessionRow } from '../../store/tables.ts'
import { book, totalsOf } from '../../tasks/budgets/ledger.ts'
import { overrun, type Totals, warnings } from '../../tasks/budgets/overrun.ts'
import { eventOf } from '../events/agent-event.ts'
import type { Desk, Ending, Parts, Run } from '../run.ts'
import { budgetTrip, keyOf } from './budget-trip.ts'
import { halted } from './halted.ts'
import { trip } from './trip.ts'

export interface Booked {
  totals: Totals
  /** It was not stored after all. */
  undo(): void
}

/** Books what the session has spent since the last time, in the transaction of what is stored anyway. */
export async function bookSpent(run: Run, parts: Parts, tx: Tx, { all = false } = {}): Promise<Booked | undefined> {
  const now = parts.clock.now()
  run.meter.passes(now, run.session !== undefined && run.row.state !== 'asking')
  const taken = run.meter.take({ all })
  if (!taken) return undefined
  try {
    const { before, after } = await book(run.row, taken.amounts, { ...parts, tx })
    const told = warnings(before, after, run.budgets).map(use =>
      eventOf(run, 'budget.warned', { ...use, key: keyOf(use.scope, run.row, now) }, 'daemon'),
    )
    await tx.append(told)
    return { totals: after, undo: taken.undo }
  } catch (error) {
    taken.undo()
    throw error
  }
}

/** Books the time that passes while nothing happens, and looks whether that was all there is. */
export async function bookNow({ run, parts }: Desk): Promise<void> {
  if (run.row.state === 'ended' || run.session === undefined) return
  let booked: Booked | undefined
  try {
    booked = await parts.store.transaction(tx => bookSpent(run, parts, tx))
  } catch (error) {
    booked?.undo()
    throw error
  }
  if (booked) await stopWhenSpent(booked, run, parts)
}

/** Stops the session where what was booked has reached a bound, and nobody has raised that meanwhile. */
export async function stopWhenSpent({ totals }: Pick<Booked, 'totals'>, run: Run, { clock }: Parts): Promise<void> {
  if (!overrun(totals, run.budgets) || run.pausing !== undefined) return
  try {
    run.budgets = await run.budgetsNow()
  } catch (error) {
    run.log.warn({ error }, 'the settings cannot be read; the budgets stay as they were')
  }
  const use = overrun(totals, run.budgets)
  if (use) trip(run, budgetTrip(use, run, clock.now()))
}

/** Before an agent is opened, or a task begun: the ending of a session that may spend nothing more. */
export async function spentBefore(run: Run, parts: Parts): Promise<Ending | undefined> {
  const use = overrun(await totalsOf(run.row, parts), run.budgets)
  return use && halted(run, budgetTrip(use, run, parts.clock.now()))
}

/** Before the next task is begun: others may have spent what was left of the day or the project. */
export async function stopBeforeNext({ run, parts }: Desk): Promise<void> {
  const totals = await totalsOf({ ...run.row, task_id: null }, parts)
  await stopWhenSpent({ totals }, run, parts)
}

/** A person makes it go on: they are told what stands in the way, and nothing has happened. */
export async function refuseSpent(row: SessionRow, budgets: Budgets, parts: Parts): Promise<void> {
  const use = overrun(await totalsOf(row, parts), budgets)
  if (!use) return
  const { reason, next } = budgetTrip(use, { id: row.id, consent: { autoResume: false } }, parts.clock.now())
  throw new AppError('budget_spent', { reason, remedy: next })
}
