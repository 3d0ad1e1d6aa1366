import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { openStore } from '../../src/store/open.ts'
import type { Store, Tx } from '../../src/store/store.ts'
import { tempDir } from '../support/world.ts'

const entry = (target: string) =>
  ({ time: 1, caller: 'ci', via: 'key', scope: 'work', action: 'POST /tasks', target, request_id: 'r' }) as const

async function storeIn(t: TestContext): Promise<Store> {
  const store = await openStore({ file: join(tempDir(t), 'pcc.db') })
  t.after(() => store.close())
  return store
}

const note = (tx: Tx, text: string) =>
  tx.append([{ actor: 'daemon', subject: text, kind: 'disk.freed', body: {} }]).then(([event]) => event?.subject)

test('work of one turn shares a transaction; what fails leaves nothing behind and takes nobody along', async t => {
  const store = await storeIn(t)
  let turn = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }), async plan => {
      const name = (at: number) => `turn-${turn}-${at}`
      turn++
      const results = await Promise.allSettled(
        plan.map((fails, at) =>
          store.share(async tx => {
            const subject = await note(tx, name(at))
            if (fails) throw new Error(`no ${at}`)
            return subject
          }),
        ),
      )
      for (const [at, fails] of plan.entries()) {
        const result = results[at]
        if (fails) assert.equal((result as PromiseRejectedResult).reason.message, `no ${at}`)
        else assert.equal((result as PromiseFulfilledResult<string>).value, name(at))
        assert.equal((await store.events({ subject: name(at) })).length, fails ? 0 : 1)
      }
    }),
    { numRuns: 40 },
  )
})

test('shared work is one commit: nobody sees the first before the last is done', async t => {
  const store = await storeIn(t)
  const seen: number[] = []
  const work = (text: string) =>
    store.share(async tx => {
      await note(tx, text)
      seen.push((await store.events({ kinds: ['disk.freed'] })).length)
    })
  const all = Promise.all([work('a'), work('b'), work('c')])
  assert.deepEqual(seen, [], 'nothing is done before the turn ends')
  await all
  assert.deepEqual(seen, [0, 0, 0])
  assert.equal((await store.events({ kinds: ['disk.freed'] })).length, 3)
})

test('what is shared is stored before the store closes, and a share within a transaction is refused', async t => {
  const file = join(tempDir(t), 'pcc.db')
  const store = await openStore({ file })
  await assert.rejects(
    store.transaction(() => store.share(() => undefined)),
    /would wait for itself/,
  )
  const ids = [store.audit.add(entry('a')), store.audit.add(entry('b'))]
  await store.close()
  assert.deepEqual(await Promise.all(ids), [1, 2])
  const again = await openStore({ file })
  t.after(() => again.close())
  assert.deepEqual(
    (await again.audit.list({ limit: 9 })).map(({ target }) => target),
    ['b', 'a'],
  )
})
