import assert from 'node:assert/strict'
import { appendFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { TallyLine } from '../../../scripts/testing/agents/tally.ts'
import { CONTRACT, type ContractPoint } from '../../../src/domain/agent-manifest.ts'
import type { Adapter } from './adapter.ts'

/** The checks for each way in which an agent may fall short, as manifests name them. */
export type Ways<Point extends ContractPoint> = {
  [Way in keyof (typeof CONTRACT)[Point]]: (t: TestContext) => void | Promise<void>
}

/** Checks a point within a test: in full, or exactly the way in which the agent's manifest says that it falls short. */
export async function checkPoint<Point extends ContractPoint>(
  t: TestContext,
  adapter: Adapter,
  point: Point,
  { full, ...ways }: { full: () => void | Promise<void> } & Ways<Point>,
): Promise<void> {
  const { manifest } = adapter
  const way = manifest.departs[point]
  const check = way === undefined ? full : (ways as unknown as Record<string, (t: TestContext) => void>)[way as string]
  assert.ok(check, `${manifest.kind} departs from ${point} by "${String(way)}", which nothing checks`)
  await check(t)
  note({ agent: nameOf(manifest), point, held: way === undefined ? 'asserted' : 'degraded' })
}

/** A test that is all about one point. */
export function pointTest<Point extends ContractPoint>(
  adapter: Adapter,
  point: Point,
  title: string,
  { full, ...ways }: { full: (t: TestContext) => void | Promise<void> } & Ways<Point>,
): void {
  const way = adapter.manifest.departs[point]
  const shortfall = way === undefined ? undefined : (CONTRACT[point] as Record<string, string>)[way as string]
  test(shortfall === undefined ? title : `${point}: ${shortfall}`, t =>
    checkPoint(t, adapter, point, { full: () => full(t), ...ways } as unknown as {
      full: () => Promise<void>
    } & Ways<Point>),
  )
}

/** One of several tests for one point: each counts as a point of its own. A test that fell short reports it. */
export function partTest(
  adapter: Adapter,
  point: ContractPoint,
  title: string,
  run: (t: TestContext) => Promise<undefined | 'degraded'> | Promise<void>,
): void {
  test(title, async t => {
    const held = (await run(t)) ?? 'asserted'
    note({ agent: nameOf(adapter.manifest), point: `${point} (${title})`, held })
  })
}

/** Parts of a point that are checked in one session, because a start costs seconds: each counts as soon as it held. */
export function partsTest(
  adapter: Adapter,
  point: ContractPoint,
  title: string,
  { parts, run }: { parts: readonly string[]; run: (t: TestContext, held: (part: string) => void) => Promise<void> },
): void {
  test(title, async t => {
    const seen: string[] = []
    await run(t, part => {
      seen.push(part)
      note({ agent: nameOf(adapter.manifest), point: `${point} (${part})`, held: 'asserted' })
    })
    assert.deepEqual(seen, parts)
  })
}

/** An agent in another host is counted separately. */
function nameOf({ kind, host }: Adapter['manifest']): string {
  return host === undefined ? kind : `${kind}-${host}`
}

function note(line: TallyLine): void {
  const file = process.env['PCC_AGENT_TALLY']
  if (file) appendFileSync(file, `${JSON.stringify(line)}\n`)
}
