import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import type { EventOf } from '../../src/domain/event.ts'
import type { Pcc } from '../cli/pcc.ts'
import { agentWorld } from './agent-world.ts'
import { onTerminal } from './pty.ts'

const SCENARIO = `
conversations:
  - name: commands
    match: run three things
    turns:
      - tools: [{ Bash: { command: "tee one", description: One } }]
      - tools: [{ Bash: { command: "tee two", description: Two } }]
      - tools: [{ Bash: { command: "tee three", description: Three } }]
      - text: "The last one said: {{last_tool_result}}"
  - name: together
    match: read two secrets
    turns:
      - tools:
          - Read: { file_path: "{{cwd}}/.env" }
          - Read: { file_path: "{{cwd}}/.env.production" }
          - Bash: { command: "rm -r third", description: Third }
      - text: Both were tried.
  - name: questions
    match: ask me
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - { question: Which colour?, header: Colour, multiSelect: false, options: [{ label: red, description: "" }, { label: blue, description: "" }] }
                - { question: Which extras?, header: Extras, multiSelect: true, options: [{ label: wheels, description: "" }, { label: doors, description: "" }, { label: roof, description: "" }] }
                - { question: Which name?, header: Name, multiSelect: false, options: [{ label: A, description: "" }, { label: B, description: "" }] }
      - text: "You said: {{last_tool_result}}"
  - name: slow
    match: work slowly
    turns:
      - { text: A step., tools: [{ Read: { file_path: "{{cwd}}/README.md" } }], repeat: 40, latency: 500 }
      - text: Done.
`

async function viewOf(pcc: Pcc, ref: string): Promise<SessionView> {
  return JSON.parse((await pcc.run(['status', ref, '--json'])).stdout) as SessionView
}

test('a person at the terminal allows, denies, and denies with a reason that reaches the agent', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const terminal = onTerminal(t, pcc, ['start', project, '--task', 'run three things', '--session-name', 'three'])
  await terminal.see(/Ctrl\+C to detach \(session continues in background\)\nCtrl\+D to stop session/)
  await terminal.see(
    /PERMISSION wanted: Bash\n +tee one\n +HIGH risk: .*\n(.|\n)*\[y\] allow once {2}\[n\] deny {2}\[t\] deny and say why {2}> /,
  )
  terminal.type('y')
  await terminal.see(/\[TOOL\] Bash → tee one ✓ \(allowed by human\)/)
  await terminal.see(/tee two\n(.|\n)*say why {2}> /)
  terminal.type('n')
  await terminal.see(/\[TOOL\] Bash → tee two ✗ \(denied by human\)/)
  await terminal.see(/tee three\n(.|\n)*say why {2}> /)
  terminal.type('t')
  await terminal.see(/Why not\? > /)
  terminal.type('use the Write tooo\x7fl\r')
  await terminal.see(/\[TOOL\] Bash → tee three ✗ \(denied by human\)\n +use the Write tool\n/)
  await terminal.see(/The last one said: .*use the Write tool/)
  await terminal.see(/Decided: +1 tools? allowed \(0 auto, 1 human\)/)
  assert.equal(await terminal.exit, 0)
  assert.deepEqual(
    ['one', 'two', 'three'].map(name => existsSync(join(project, name))),
    [true, false, false],
  )
})

test('of several things asked at once one is shown, whole and named at its prompt, and a key answers that one', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  writeFileSync(join(project, '.env'), 'A=1\n')
  writeFileSync(join(project, '.env.production'), 'B=2\n')
  const terminal = onTerminal(t, pcc, ['start', project, '--task', 'read two secrets', '--session-name', 'both'])
  // Which of the two comes first is the agent's affair.
  const keys: Record<string, string> = { '.env': 'n', '.env.production': 'y' }
  const [, file = '', other = '', name = ''] = await terminal.see(
    /PERMISSION wanted: Read\n +file_path: \S*\/(\S+)\n +HIGH risk: [^[]*?\n +\(1 more waits: Read → (\S+)\)\n +Read → (\S+) {2}\[y\] allow once .*> /,
  )
  assert.equal(name, file)
  assert.deepEqual([name, other].sort(), Object.keys(keys).sort())
  assert.ok(!terminal.raw().includes(`/${other}\r\n`), 'the other one is not shown yet')
  terminal.type(keys[name] ?? '')
  await terminal.see(
    new RegExp(`PERMISSION wanted: Read\n +file_path: \\S*/${other}\n +HIGH risk: [^[]*?\n +Read → ${other}  \\[y\\]`),
  )
  terminal.type(keys[other] ?? '')
  await terminal.see(/PERMISSION wanted: Bash\n +rm -r third\n(.|\n)*Bash → rm -r third {2}\[y\]/)
  terminal.type('n')
  await terminal.see(/Both were tried/)
  assert.equal(await terminal.exit, 0)
  const { decisions } = JSON.parse((await pcc.run(['status', 'both', '--json', '--show-decisions'])).stdout) as {
    decisions: EventOf<'permission.decided'>[]
  }
  assert.deepEqual(decisions.map(({ body }) => [body.target, body.verdict]).sort(), [
    ['.env', 'deny'],
    ['.env.production', 'allow'],
    ['rm -r third', 'deny'],
  ])
})

test('questions are answered by key, by several keys and by typing', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const terminal = onTerminal(t, pcc, ['start', project, '--task', 'ask me'])
  await terminal.see(/QUESTIONS from Claude:\n +"Which colour\?"\n +Options: \[1\] red {2}\[2\] blue\n/)
  await terminal.see(/\(1 of 3\) Colour \[1-2\] Select {2}\[T\]ype custom {2}> /)
  terminal.type('9x2')
  await terminal.see(/\(1 of 3\) Colour > blue\n/)
  await terminal.see(/\(2 of 3\) Extras \[1-3\] Toggle {2}\[Enter\] Done {2}\[T\]ype custom {2}> /)
  terminal.type('1321\r')
  await terminal.see(/\(3 of 3\) Name /)
  terminal.type('t')
  terminal.type('Zoë 日本\r')
  await terminal.see(/Answer \(human\): blue · doors, roof · Zoë 日本/)
  await terminal.see(/You said: (.|\n)*blue(.|\n)*doors,\s+roof(.|\n)*Zoë 日本/)
  assert.equal(await terminal.exit, 0)
})

test('Ctrl+C leaves the session running, attaching takes it up again, and Ctrl+D stops it', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const first = onTerminal(t, pcc, ['start', project, '--task', 'work slowly', '--session-name', 'slow'])
  await first.see(/Read → README\.md ✓/)
  first.type('\x03')
  const [, id = ''] = await first.see(/Detached; session goes on\. Attach with: pcc attach (s-\w+)/)
  assert.equal(await first.exit, 130)
  assert.equal((await viewOf(pcc, id)).status, 'processing')

  const second = onTerminal(t, pcc, ['attach', id])
  await second.see(new RegExp(`Attached to session ${id} \\(slow\\)\n─+\n`))
  await second.see(/Ctrl\+D to stop session/)
  await second.see(/Claude: A step\./)
  second.type('\x04')
  await second.see(/Stopping the session\.\.\./)
  await second.see(/Session stopped\./)
  await second.see(/Summary of /)
  assert.equal(await second.exit, 130)
  assert.equal((await viewOf(pcc, id)).status, 'stopped')
})

test('what another terminal answers goes away here, and what was typed for it counts for nothing', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const first = onTerminal(t, pcc, ['start', project, '--task', 'run three things', '--session-name', 'shared'])
  await first.see(/tee one\n(.|\n)*say why {2}> /)
  const second = onTerminal(t, pcc, ['attach', 'shared'])
  await second.see(/tee one\n(.|\n)*say why {2}> /)
  first.type('t')
  await first.see(/Why not\? > /)
  first.type('half a rea')
  second.type('y')
  await first.see(/tee one ✓ \(allowed by human\)/)
  await Promise.all([first, second].map(terminal => terminal.see(/tee two\n(.|\n)*say why {2}> /)))
  second.type('n')
  await second.see(/tee two ✗/)
  await first.see(/tee three\n(.|\n)*say why {2}> /)
  first.type('n')
  await Promise.all([first.see(/Summary of /), second.see(/Summary of /)])
  assert.deepEqual([await first.exit, await second.exit], [0, 0])
})

test('a question left open by detaching is parked, and attaching later answers it', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  const first = onTerminal(t, pcc, ['start', project, '--task', 'ask me', '--session-name', 'parked'])
  await first.see(/\(1 of 3\) Colour /)
  first.type('\x03')
  await first.see(/Detached/)
  await first.exit
  const piped = await pcc.run(['attach', 'parked'])
  assert.equal(piped.code, 3, piped.stdout)
  assert.match(piped.stdout, /"Which colour\?"/)
  assert.match((await pcc.run(['list'])).stdout, /● Waiting {2}.*\n.*pcc attach/)

  const second = onTerminal(t, pcc, ['attach', 'parked'])
  await second.see(/\(1 of 3\) Colour /)
  second.type('1')
  second.type('2\r')
  second.type('1')
  await second.see(/Answer \(human\): red · doors · A/)
  await second.see(/You said: (.|\n)*red/)
  assert.equal(await second.exit, 0)
})
