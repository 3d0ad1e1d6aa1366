import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type TestContext, test } from 'node:test'
import { findMarked, sweepMarked } from '../../../src/base/process/sweep.ts'
import { gitProject } from '../../support/world.ts'
import { bubblewrap, inSandbox } from './a-sandbox.ts'
import { refusedHere } from './refused-here.ts'

const sandboxed = (title: string, body: (t: TestContext) => Promise<void>) =>
  test(title, 'program' in bubblewrap ? body : refusedHere)

/** Leaves an orphan, a child in its own session, and a child with an empty environment. */
const RUNAWAYS = `(sleep 300 &) ; setsid sleep 301 & env -i setsid sleep 302 & echo up; sleep 303`

for (const isolation of ['auto', 'marker'] as const) {
  sandboxed(`nothing that ran in a sandbox is left after its end (${isolation})`, async t => {
    const { agent, start } = await inSandbox(t, { project: gitProject(t), isolation })
    const child = start('/bin/sh', '-c', RUNAWAYS)
    await once(child.stdout, 'data')
    assert.ok((await findMarked(agent.marker)).length >= 4)
    await agent.end()
    assert.deepEqual(await findMarked(agent.marker), [])
    assert.equal(agent.hasSurvivors, false)
  })

  sandboxed(`what is in a sandbox is found and swept by its marker alone (${isolation})`, async t => {
    const { agent, start } = await inSandbox(t, { project: gitProject(t), isolation })
    await once(start('/bin/sh', '-c', RUNAWAYS).stdout, 'data')
    const { killed, left } = await sweepMarked(agent.marker)
    assert.ok(killed.some(({ command }) => command.includes('sleep 302')) && left.length === 0)
    assert.deepEqual(await findMarked(agent.marker), [])
  })
}
