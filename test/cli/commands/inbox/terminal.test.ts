import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sessionMarker } from '../../../../src/base/process/marker.ts'
import { onTerminal } from '../../../e2e/pty.ts'
import { pccFor } from '../../pcc.ts'
import { seed } from '../../seeded.ts'
import { recordRefused } from './waiting.ts'

const KEYS = /\[A\]pprove {2}\[D\]eny {2}\[T\]ype why not {2}\[S\]kip/

test('everything that waits is worked through by keys: approve, skip, deny with a reason', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  await recordRefused(
    pcc,
    ['one', 'two', 'three'].map(name => ({ normalised: `Bash ln -s ${name} b` })),
  )
  const terminal = onTerminal(t, pcc, ['inbox'])
  await terminal.see(/Inbox: 3 were refused/)
  await terminal.see(/› +1 +Perm\. +s-aaaaaa +Approve: ln -s one b(.|\n)*Task: tidy up/)
  await terminal.see(KEYS)
  terminal.type('s')
  await terminal.see(/› +2 +Perm\.(.|\n)*Decision 2 of session/)
  await terminal.see(KEYS)
  terminal.type('a')
  await terminal.see(
    /› +3 +Perm\.(.|\n)*Decision 3 of session(.|\n)*Noted: it was refused then; your yes to decision 2/,
  )
  await terminal.see(KEYS)
  terminal.type('t')
  await terminal.see(/Why not\? > _/)
  terminal.type('use cp\x7f')
  await terminal.see(/Why not\? > use c_/)
  terminal.type('p\r')
  await terminal.see(/› +1 +Perm\.(.|\n)*Denied: decision 3/)
  await terminal.see(KEYS)
  terminal.type('q')
  assert.equal(await terminal.exit, 0)
  assert.match(
    terminal.raw(),
    /\x1b\[\?1049h[\s\S]*\x1b\[\?1049l[\s\S]*Nothing waits for you\./,
    'the screen is given back',
  )
  const { escalations } = JSON.parse((await pcc.run(['pending', '--json'])).stdout) as {
    escalations: { number: number }[]
  }
  assert.deepEqual(
    escalations.map(({ number }) => number),
    [1],
  )
})

test('what comes and what is answered elsewhere is seen at once; a key then answers nothing until the person goes on', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  await recordRefused(pcc, [{ normalised: 'Bash ln -s a b' }, { normalised: 'Bash ln -s c d' }])
  const terminal = onTerminal(t, pcc, ['inbox'])
  await terminal.see(/Decision 1 of session/)
  await terminal.see(KEYS)
  assert.equal((await pcc.run(['respond', '1', '--deny'])).code, 0)
  await terminal.see(/It was settled elsewhere(.|\n)*\[Enter\] Go on {2}\[Q\]uit/)
  terminal.type('a\x1b[B')
  await terminal.see(/Decision 2 of session/)
  assert.equal((await pcc.run(['respond', '2', '--deny'])).code, 0)
  await terminal.see(/It was settled elsewhere/)
  terminal.type('\r')
  await terminal.see(/Inbox: nothing waits for you\./)
  terminal.type('\x03')
  assert.equal(await terminal.exit, 0)
})

test('another size of the terminal, and no colour, change nothing but the looks', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  await recordRefused(pcc, [{ normalised: `Bash ln -s ${'very-long-name '.repeat(40)}LAST` }])
  const terminal = onTerminal(t, pcc, ['inbox'])
  await terminal.see(/LAST(.|\n)*Task: tidy up/)
  await terminal.see(KEYS)
  assert.doesNotMatch(terminal.raw(), /\x1b\[[\d;]*m/, 'no colour where none is wanted')
  terminal.resize(60, 12)
  await terminal.see(/─ \d+ more lines: PgDn ─/)
  terminal.type('a')
  await terminal.see(/Read it to its end first/)
  terminal.resize(120, 50)
  await terminal.see(/LAST(.|\n)*Task: tidy up(.|\n)*\[A\]pprove/)
  terminal.type('a')
  await terminal.see(/Inbox: nothing waits for you\./)
  terminal.type('q')
  assert.equal(await terminal.exit, 0)
  const coloured = onTerminal(t, pcc, ['inbox'], { NO_COLOR: '', FORCE_COLOR: '1' })
  await coloured.see(/nothing waits for you/)
  assert.match(coloured.raw(), /\x1b\[1mInbox/)
  coloured.type('q')
  assert.equal(await coloured.exit, 0)
})

test('a daemon that goes away is reported, and the list is shown again when it is back', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  await recordRefused(pcc, [{ normalised: 'Bash ln -s a b' }])
  const terminal = onTerminal(t, pcc, ['inbox'])
  await terminal.see(KEYS)
  assert.equal((await pcc.run(['daemon', 'stop'])).code, 0)
  await terminal.see(/; trying again/)
  assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
  assert.equal((await pcc.run(['respond', '1', '--deny'])).code, 0)
  await terminal.see(/It was settled elsewhere/)
  terminal.type('q')
  assert.equal(await terminal.exit, 0)
})

test('the inbox is for a person at a terminal', async t => {
  const pcc = pccFor(t)
  const piped = await pcc.run(['inbox'])
  assert.equal(piped.code, 2)
  assert.match(piped.stderr, /it needs a terminal; elsewhere use pcc pending/)
  const inside = await pcc.run(['inbox'], { env: { [sessionMarker('x').name]: 'x' } })
  assert.equal(inside.code, 3, 'an agent does not answer itself')
})
