import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvidence } from '../../../src/domain/workspace/evidence.ts'
import { DATABASES } from '../databases.ts'

function evidence(gate: string, more: Partial<NewEvidence> = {}): NewEvidence {
  return {
    ...{ task_id: 't-1', attempt: 1, round: 1, gate, kind: 'command', status: 'passed', tree: 'abc', command: 'make' },
    ...{ exit: 0, duration_ms: 5, output: 'out', findings: [], tests: null, cached: false, created_at: 1 },
    ...more,
  }
}

for (const { name, open } of DATABASES) {
  test(`${name}: evidence comes back as it was put, in its order`, async t => {
    const store = await open(t)
    const rows = [
      evidence('build'),
      evidence('test', {
        status: 'failed',
        findings: [{ code: 'test.failed', weight: 'block', text: 'x', file: 'a', line: 3 }],
        tests: [{ name: 'a', status: 'failed' }],
        cached: true,
        tree: null,
      }),
    ]
    const of = { task_id: 't-1', attempt: 1, round: 1 }
    await store.transaction(tx => store.evidence.put(of, rows, tx))
    assert.deepEqual(
      (await store.evidence.list({ task: 't-1' })).map(({ id, ...rest }) => rest),
      rows,
    )
  })

  test(`${name}: a round that is looked at again takes the place of what was seen before, and of nothing else`, async t => {
    const store = await open(t)
    const put = (round: number, gate: string) =>
      store.transaction(tx =>
        store.evidence.put({ task_id: 't-1', attempt: 1, round }, [evidence(gate, { round })], tx),
      )
    await put(1, 'first')
    await put(2, 'interrupted')
    await put(2, 'whole')
    assert.deepEqual(
      (await store.evidence.list({ task: 't-1' })).map(({ gate }) => gate),
      ['first', 'whole'],
    )
    assert.deepEqual(
      (await store.evidence.latest('t-1')).map(({ gate }) => gate),
      ['whole'],
    )
    assert.deepEqual(
      (await store.evidence.list({ task: 't-1', attempt: 1, round: 1 })).map(({ gate }) => gate),
      ['first'],
    )
    assert.deepEqual(await store.evidence.latest('t-2'), [])
  })

  test(`${name}: a result is kept under its key until it is too old`, async t => {
    const store = await open(t)
    const result = {
      ...{ key: 'k', tree: 'abc', command: 'make', exit: 0, duration_ms: 4, output: 'o', created_at: 100 },
      tests: [{ name: 'a', status: 'passed' as const }],
    }
    await store.gateResults.put(result)
    await store.gateResults.put({ ...result, output: 'newer' })
    assert.deepEqual(await store.gateResults.get('k'), { ...result, output: 'newer' })
    assert.equal(await store.gateResults.get('other'), undefined)
    await store.gateResults.prune(101)
    assert.equal(await store.gateResults.get('k'), undefined)
  })
}
