import { asksFor } from '../asks.ts'
import { record } from '../record.ts'
import type { Parts, Run } from '../run.ts'
import type { Preparation } from './preparation.ts'

/**
 * Looks at settings and trust once more for a session that waited in line: a pull or a checkout may have changed the project
 * since. A process that was started for what held before no longer fits, and the driver ends it. What holds now is returned.
 */
export async function renew(run: Run, before: Preparation, parts: Parts): Promise<Preparation> {
  const cool = () => run.driver.cool({ ...run.open, asks: asksFor(run, parts) })
  const now = await before.again().catch(async error => {
    await cool()
    throw error
  })
  if (now.driver !== run.driver) await cool()
  run.driver = now.driver
  run.open = { ...run.open, ...now.open }
  run.policy = now.policy
  run.heldEnough = now.heldEnough
  run.guard = run.guards.before(now.guard)
  const news = now.notes.filter(text => !before.notes.includes(text))
  const noted = (text: string) => ({ actor: 'daemon', subject: run.id, kind: 'session.noted' as const, body: { text } })
  if (news.length > 0) await record(run, parts, { events: news.map(noted), patch: {} })
  return now
}
