import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { SessionView } from '../../src/domain/api.ts'
import type { StoredEvent } from '../../src/domain/event.ts'
import { agentWorld } from './agent-world.ts'

const SCENARIO = `
conversations:
  - name: work
    match: write a note
    turns:
      - text: I'll write it.
        tools:
          - Write: { file_path: "{{cwd}}/note.txt", content: "hello\\n" }
          - Bash: { command: "tee made-by-bash", description: Touch }
      - text: The note is written.
  - name: question
    match: ask me
    turns:
      - tools:
          - AskUserQuestion:
              questions:
                - question: Which colour?
                  header: Colour
                  multiSelect: false
                  options: [{ label: red, description: "" }, { label: blue, description: "" }]
      - text: "You said: {{last_tool_result}}"
  - name: endless
    match: work for long
    turns:
      - { text: Step one., tools: [{ Read: { file_path: "{{cwd}}/README.md" } }], repeat: 50 }
      - text: Done.
  - name: limit
    match: hit the limit
    turns:
      - fault: { kind: limit, window: five_hour, resets: +2h }
`

test('without a terminal a session runs to its end: writes are allowed, a dangerous command is denied, and the exit code says it', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)
  writeFileSync(join(pcc.home, 'req.md'), '# Project: Notes\n\n- [ ] write a note\n')
  // The person also uses hooks of pcc where they start Claude Code themselves.
  assert.equal((await pcc.run(['hooks', 'install', '--claude', '--yes'])).code, 0)
  const { code, stdout, stderr } = await pcc.run([
    'start',
    project,
    '--requirements',
    'req.md',
    '--session-name',
    'notes',
  ])
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^╭─ PerpetualCC Session: notes ─+╮\n│ Project: /)
  assert.match(stdout, /\[\d\d:\d\d:\d\d\] Claude: I'll write it\./)
  assert.match(stdout, /\[TOOL\] Write → note\.txt ✓ \(allowed: inside the project\)/)
  assert.match(stdout, /\[TOOL\] Bash → tee made-by-bash ✗ \(denied\)/)
  assert.match(stdout, /Done:\s+wrote note\.txt/)
  assert.match(stdout, /Refused:\s+Bash → tee made-by-bash/)
  assert.match(stdout, /Took:.*\nTokens:.*\nCost:/)
  assert.equal(readFileSync(join(project, 'note.txt'), 'utf8'), 'hello\n')
  assert.equal(existsSync(join(project, 'made-by-bash')), false)
  assert.equal((await pcc.run(['hooks', 'log'])).stdout, '', 'hooks say nothing in a session of pcc')
  const { task } = JSON.parse((await pcc.run(['status', 'notes', '--json'])).stdout) as SessionView
  assert.match(task, /Requirements \(req\.md\):\n\n# Project: Notes/)

  const past = JSON.parse((await pcc.run(['agents', 'sessions', project, '--json'])).stdout) as {
    sessions: { vendor_id: string }[]
  }
  const { vendor_id } = JSON.parse((await pcc.run(['status', 'notes', '--json'])).stdout) as SessionView
  assert.deepEqual(
    past.sessions.map(session => session.vendor_id),
    [vendor_id],
  )
  assert.match((await pcc.run(['agents', 'sessions'])).stdout, new RegExp(`^${vendor_id} `))
})

test('sessions that a script starts', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO)

  await t.test('--quiet prints how it ended and what stands in the way, and nothing of the way there', async () => {
    const done = await pcc.run(['start', project, '--task', 'write a note', '--quiet'])
    assert.equal(done.code, 0, done.stderr)
    assert.match(done.stdout, /^\[\d\d:\d\d:\d\d\] Session completed\.\n$/)
    const parked = await pcc.run(['--quiet', 'start', project, '--task', 'ask me'])
    assert.equal(parked.code, 3, parked.stderr)
    assert.match(
      parked.stdout,
      /^\[.*\] ⚠️ {2}QUESTION from Claude:\n(.|\n)*\] Session waits for an answer\.\nGo on with: pcc attach s-\w+\n$/,
    )
    assert.doesNotMatch(parked.stdout, /Summary|╭|Starting/)
  })

  await t.test(
    '--json streams every event as a line, and a question that nobody can answer parks the session with exit code 3',
    async () => {
      const { code, stdout, stderr } = await pcc.run(['start', project, '--task', 'ask me', '--json'])
      assert.equal(code, 3, stderr)
      const events = stdout
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as StoredEvent)
      const kinds = events.map(({ kind }) => kind)
      assert.equal(kinds[0], 'session.created')
      assert.ok(kinds.includes('question.parked'))
      assert.equal(kinds.at(-1), 'session.ended')
      assert.equal(stderr, '')
    },
  )

  await t.test('an agent that cannot be started is named before, and is one clear error', async () => {
    await pcc.run(['config', 'set', 'agents.path', '/nowhere/claude'])
    const { code, stdout, stderr } = await pcc.run(['start', project, '--task', 'write a note'])
    assert.equal(code, 2, stdout + stderr)
    assert.match(stderr, /^error: .*agents\.path .*\/nowhere\/claude/m)
  })
})

test('sessions that last', async t => {
  const { pcc, project } = await agentWorld(t, `defaults: { latency: 400 }\n${SCENARIO}`)

  await t.test('a detached session is listed, shown, logged and stopped', async () => {
    const started = await pcc.run(['start', project, '--task', 'work for long', '--detach', '--session-name', 'long'])
    assert.equal(started.code, 0, started.stderr)
    const [, id = ''] = /^Session started: (s-\w+) \(long\)\nAttach with: pcc attach \1\n$/.exec(started.stdout) ?? []
    assert.ok(id, started.stdout)
    const follower = pcc.spawn(['logs', 'long', '-f'])
    let followed = ''
    await new Promise<void>(resolve => {
      follower.stdout?.on('data', chunk => {
        followed += chunk
        if (followed.includes('Read → README.md ✓')) resolve()
      })
    })
    assert.match((await pcc.run(['list', '--status', 'running'])).stdout, new RegExp(`${id} {2}long +\\S+ +● Running`))
    assert.match((await pcc.run(['status', id.slice(2, 6)])).stdout, /Status: +● Running/)
    const stopped = await pcc.run(['stop', 'long'])
    assert.equal(stopped.code, 0, stopped.stderr)
    assert.match(stopped.stdout, new RegExp(`^Session stopped: ${id} \\(long\\)\nGo on with: pcc resume ${id}\n$`))
    const attached = await pcc.run(['attach', 'long'])
    assert.equal(attached.code, 130)
    assert.match(attached.stdout, /Status: +○ Stopped/)
    assert.equal(
      (JSON.parse((await pcc.run(['list', '--json'])).stdout) as { sessions: SessionView[] }).sessions[0]?.status,
      'stopped',
    )
  })

  await t.test('a session that must wait for a place says so when it is started and in the list', async () => {
    await pcc.run(['config', 'set', 'sessions.max_concurrent', '1'])
    const start = (name: string) =>
      pcc.run(['start', project, '--task', 'work for long', '--detach', '--session-name', name])
    assert.match((await start('first')).stdout, /^Session started: /)
    assert.match((await start('second')).stdout, /^Session queued, it waits for a free slot: s-\w+ \(second\)\n/)
    assert.match((await pcc.run(['list'])).stdout, /second +\S+ +○ Queued (.|\n)* Waits for a free slot/)
  })
})

test('a cap on turns ends with exit code 4, a limit of the vendor too', async t => {
  const { pcc, project } = await agentWorld(t, SCENARIO, 'oauth')
  const capped = await pcc.run(['start', project, '--task', 'work for long', '--max-turns', '2'])
  assert.equal(capped.code, 4, capped.stdout + capped.stderr)
  assert.match(capped.stdout, /Status: +⏸ Paused/)
  const limited = await pcc.run(['start', project, '--task', 'hit the limit', '--no-auto-resume'])
  assert.equal(limited.code, 4, limited.stdout + limited.stderr)
  assert.match(limited.stdout, /⏳ Limit: /)
  assert.match(limited.stdout, /Status: +⏳ Limited\nDone: (.|\n)*\nGo on: +pcc resume s-/)
  assert.match((await pcc.run(['list'])).stdout, /⏳ Limited/)
})
