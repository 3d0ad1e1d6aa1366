import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { sessionMarker } from '../../../src/base/process/marker.ts'
import { decisionBox } from '../../../src/cli/commands/respond-interactive.ts'
import { asTyped } from '../../../src/cli/commands/respond-lines.ts'
import { changeLines, contextLines } from '../../../src/cli/render/escalation-lines.ts'
import type { EscalationView, NewEscalation } from '../../../src/domain/escalation.ts'
import { openEscalations } from '../../../src/human/escalations.ts'
import { openAnswerMemory } from '../../../src/human/remembered-answers.ts'
import { openStore } from '../../../src/store/open.ts'
import { onTerminal } from '../../e2e/pty.ts'
import { tempDir } from '../../support/world.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { plain } from '../render/sample.ts'
import { seed } from '../seeded.ts'

test('--always shows the narrowest rule first, and writes it only after a yes', async t => {
  const pcc = pccFor(t)
  await refused(pcc, [
    { normalised: "Bash rm 'it'", risk: 'HIGH' },
    { normalised: 'Bash rm *', risk: 'HIGH' },
  ])
  const unasked = await pcc.run(['respond', '1', '--approve', '--always'])
  assert.equal(unasked.code, 3)
  assert.match(unasked.stderr, /^This rule is added to yours, for every project: allow Bash rm 'it'\n/)
  assert.match(unasked.stderr, /Writing a rule/)
  assert.equal((await pcc.run(['rules', 'list'])).stdout.includes('rm'), false, 'nothing was written')
  assert.match((await pcc.run(['pending'])).stdout, /Approve: rm 'it'/, 'and nothing answered')

  const done = await pcc.run(['respond', '1', '--approve', '--always', '--yes'])
  assert.equal(done.code, 0, done.stderr)
  assert.match(
    done.stdout,
    /^Noted: it was refused then; your yes to decision 1 of session s-aaaaaa does not run it\n {2}rm 'it'\nAdded: allow Bash rm 'it' {2}\(.*rules\.toml:\d+\)\n$/,
  )
  const wild = await pcc.run(['respond', '2', '--deny', '--always', '--yes'])
  assert.equal(wild.code, 2)
  assert.match(wild.stderr, /no rule can be written for exactly this; answer without --always/)
  assert.match((await pcc.run(['pending'])).stdout, /│ 2 │/)
})

test('--always asks at a terminal, and a no changes nothing', async t => {
  const pcc = pccFor(t)
  await refused(pcc, [{ normalised: 'Bash git push' }])
  const terminal = onTerminal(t, pcc, ['respond', '1', '--deny', '--always'])
  await terminal.see(/This rule is added to yours, for every project: deny Bash git push\s+Write it\? \[y\/N\] /)
  terminal.type('n\r')
  assert.notEqual(await terminal.exit, 0)
  assert.match((await pcc.run(['pending'])).stdout, /Approve: git push/)
})

test('flags that do not belong together are refused', async t => {
  const pcc = pccFor(t)
  for (const [args, problem] of [
    [['1', 'x', '--everywhere'], /--everywhere belongs to --always/],
    [['1', 'x', '--yes'], /--yes belongs to --always/],
    [['1', 'x', '--interactive'], /--interactive asks for the answer itself/],
    [['1', '--approve', '--interactive'], /--interactive asks for the answer itself/],
  ] as const) {
    const { code, stderr } = await pcc.run(['respond', ...args])
    assert.equal(code, 2)
    assert.match(stderr, problem)
  }
})

test('until when an answer counts is said by the settings of its project; a broken file there hides nothing', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  const file = (content: string) => {
    const project = tempDir(t)
    writeFileSync(join(project, '.perpetualcc.toml'), content)
    return project
  }
  const [strict, broken] = [file('memory.answers_ttl_days = 1\n'), file('memory = [\n')]
  {
    await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
    const memory = openAnswerMemory(store, { clock: { now: () => Date.now() - 2 * 86_400_000 } })
    const asked = { session: 's-1', by: 'human', answer: ['blue'] }
    const keep = (project: string, question: string) =>
      memory.keep({ ...asked, project, questions: [{ question, header: '', multiSelect: false, options: [] }] })
    await keep(strict, 'Which colour?')
    await keep(broken, 'Which paint?')
  }
  const { stdout, stderr } = await pcc.run(['answers', 'list'])
  assert.match(stdout, /Which colour\? +│ blue .*│ old/, stderr)
  assert.match(stdout, /Which paint\? +│ blue .*│ \d+ \w+( \d+)? +│ \d+ \w+/)
})

test('answers are listed with their scope, person and expiry, and forgotten by id', async t => {
  const pcc = pccFor(t)
  await seed(pcc, [{}])
  {
    await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
    const now = Date.now()
    const keep = (question: string, days: number, always?: 'project' | 'everywhere') =>
      openAnswerMemory(store, { clock: { now: () => now - days * 86_400_000 } }).keep({
        ...{ project: '/p', session: 's-1', by: 'human', answer: ['blue \u001b[2J'], always },
        questions: [{ question, header: '', multiSelect: false, options: [] }],
      })
    await keep('Which colour?', 1)
    await keep('Which paint?', 100)
    await keep('Which brush?', 200, 'everywhere')
  }
  const { stdout } = await pcc.run(['answers', 'list'])
  assert.match(stdout, /│ a-\w{6} │ \/p +│ Which colour\? │ blue.* │ you │ \d+ \w+( \d+)? +│ \d+ \w+/)
  assert.match(stdout, /Which paint\? +│ blue.*│ old/)
  assert.match(stdout, /│ everywhere │ Which brush\? +│ blue.*│ always/)
  assert.doesNotMatch(stdout, /\u001b/)
  const { answers } = JSON.parse((await pcc.run(['answers', 'list', '--json', '--project', '/q'])).stdout)
  assert.deepEqual(
    answers.map(({ asked }: { asked: string }) => asked),
    ['Which brush?'],
  )
  const [{ id }] = answers
  assert.match((await pcc.run(['answers', 'forget', 'a-nope'])).stderr, /No answer with the id "a-nope" is remembered/)
  const inside = await pcc.run(['answers', 'forget', id], { env: { [sessionMarker('x').name]: 'x' } })
  assert.equal(inside.code, 3, 'an agent cannot make a person forget')
  assert.match((await pcc.run(['answers', 'forget', id.slice(2)])).stdout, /^Forgotten: a-\w+ {2}Which brush\? > blue/)
  assert.doesNotMatch((await pcc.run(['answers', 'list'])).stdout, /brush/)
})

test('pending --watch shows what comes and goes until Ctrl+C', async t => {
  const pcc = pccFor(t)
  await refused(pcc, [{ normalised: 'Bash ln -s a b' }])
  const terminal = onTerminal(t, pcc, ['pending', '--watch'])
  await terminal.see(/Approve: ln -s a b/)
  assert.equal((await pcc.run(['respond', '1', '--deny'])).code, 0)
  await terminal.see(/Nothing waits for you\./)
  terminal.type('\x03')
  await terminal.exit
})

test('--interactive shows the decision in a box and takes a key', async t => {
  const pcc = pccFor(t)
  await refused(pcc, [{ normalised: 'Bash ln -s a b', context: { steps: ['did: Bash ls'] } }])
  assert.match((await pcc.run(['respond', '1', '--interactive'])).stderr, /--interactive needs a terminal/)
  const terminal = onTerminal(t, pcc, ['respond', '1']) // what the board names: at a terminal it means the same
  await terminal.see(/┌─+┐\s+│ \[[\d:]+\] ⚠️ +Human input needed for session s-aaaaaa/)
  await terminal.see(/Claude wants:(.|\n)*ln -s a b(.|\n)*Task: tidy up(.|\n)*- did: Bash ls(.|\n)*\[y\] allow {2}/)
  terminal.type('y')
  await terminal.see(/Noted: it was refused then; your yes to decision 1/)
  assert.equal(await terminal.exit, 0)
})

test('Ctrl+C in the box leaves the decision open', async t => {
  const pcc = pccFor(t)
  await refused(pcc, [{ normalised: 'Bash ln -s a b' }])
  const terminal = onTerminal(t, pcc, ['respond', '1', '--interactive'])
  await terminal.see(/\[y\] allow {2}/)
  terminal.type('\x03')
  assert.equal(await terminal.exit, 130)
  assert.match((await pcc.run(['pending'])).stdout, /Approve: ln -s a b/)
})

test('the box shows the suggestion, who else waits and what happens at the deadline, and is safe to print', () => {
  const suggestion = { answer: ['blue'], confidence: 0.72, by: 'rules', reasoning: 'the sky \u001b[2J' }
  const question = { question: 'Which \u001b[2Jcolour?', header: '', multiSelect: false }
  const options = [
    { label: 'red', description: 'warm' },
    { label: 'blue', description: '' },
  ]
  const row = view({
    kind: 'question',
    input: { questions: [{ ...question, options }] },
    ...{ state: 'open', deadline: 60_000, on_deadline: 'take_suggestion', sessions: ['s-1', 's-2'] },
    context: { steps: ['said: \u001b[31mhm'], suggestion },
  })
  const box = decisionBox(row, { agent: 'gemini', terminal: plain(80), now: 0 })
  const text = box.join('\n')
  assert.doesNotMatch(text, /\u001b/)
  assert.match(text, /Gemini asks:/)
  assert.match(text, /\[1\] red — warm/)
  assert.match(text, /Brain: "blue" \(confidence: 72%\)/)
  assert.match(text, /Waits for it: s-1, s-2/)
  assert.match(text, /Unanswered until .*: the suggestion is taken/)
  assert.ok(
    box.every(line => [...line].length <= 81),
    'it has the width of the terminal',
  )
  assert.deepEqual(contextLines(view({}), { width: 80, now: 0 }), ['Task: tidy up'])
})

test('the text that a tool would write is shown as a change', () => {
  const edit = { old_string: 'a\nb', new_string: 'c' }
  assert.deepEqual(changeLines(view({ input: edit }), 40), ['Change:', '  - a', '  - b', '  + c'])
  assert.deepEqual(changeLines(view({ input: { content: 'x' } }), 40), ['Change:', '  + x'])
  assert.deepEqual(changeLines(view({ input: { edits: [edit, edit] } }), 40).length, 7)
  assert.equal(changeLines(view({ input: { content: 'x\n'.repeat(99) } }), 40).length, 101, 'whole, however long')
  const more = { tool: 'Fetch', normalised: 'Fetch https://x', input: { url: 'https://x', body: 'rm -rf \u202e' } }
  assert.deepEqual(changeLines(view(more), 40), ['Change:', '  body: rm -rf ⟨U+202E⟩'])
  assert.deepEqual(changeLines(view({ input: { command: 'ls' } }), 40), [])
})

test('an answer by keys is sent as option numbers, and typed words are sent as words', () => {
  const options = ['a, b', 'c'].map(label => ({ label, description: '' }))
  const item = { question: 'Q', header: '', multiSelect: true, options }
  assert.deepEqual(asTyped({ answers: { Q: ['a, b', 'c'] } }, [item]), { answer: ['1,2'] })
  assert.deepEqual(asTyped({ answers: { Q: ['c', 'own'] } }, [item]), { answer: ['c, own'] })
  assert.deepEqual(asTyped({ verdict: 'deny', reason: 'no' }, []), { verdict: 'deny', reason: 'no' })
})

function view(changes: Partial<EscalationView>): EscalationView {
  const none = { verdict: null, answer: null, answered_by: null, answered_at: null, answer_reason: null }
  const unused = { task_id: null, allowed_until: null, used_at: null, again: false }
  return {
    ...REFUSED,
    ...{ number: 1, count: 1, created_at: 0, last_at: 0, sessions: ['s-aaaaaa'], priority: 0 },
    ...{ context: {}, deadline: null, on_deadline: 'keep_waiting', ...none, ...unused },
    ...changes,
  }
}

async function refused(pcc: Pcc, entries: Partial<NewEscalation>[]): Promise<void> {
  await seed(pcc, [{}])
  await using store = await openStore({ file: appPathsFor({ env: pcc.env }).database })
  const escalations = openEscalations({ store, clock: { now: () => Date.now() } })
  for (const entry of entries) await escalations.record({ ...REFUSED, ...entry })
}

const REFUSED: NewEscalation = {
  kind: 'permission',
  session_id: 's-aaaaaa',
  project: '/nowhere/project',
  task: 'tidy up',
  call_id: 'c-1',
  tool: 'Bash',
  target: 'x',
  input: {},
  risk: 'MEDIUM',
  reason: 'because',
  reasons: [],
  normalised: 'Bash x',
  state: 'denied',
}
