import assert from 'node:assert/strict'
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { openPrecedents } from '../../../src/human/precedents.ts'
import { openStore } from '../../../src/store/open.ts'
import { gitProject } from '../../support/world.ts'
import { pccFor } from '../pcc.ts'

test('a command is shown as a tree with the risk of each piece, what decided and what would change it', async t => {
  const pcc = pccFor(t)
  const { code, stdout, stderr } = await pcc.run(['explain', 'ls src | head; rm -rf build'])
  assert.equal(code, 0)
  assert.equal(stderr, '')
  assert.deepEqual(stdout.split('\n'), [
    'HIGH ls src | head; rm -rf build',
    '  LOW ls src | head',
    '    LOW ls src',
    '    LOW head',
    '  HIGH rm -rf build',
    '    - HIGH file.delete: rm deletes files',
    '',
    'Risk:      HIGH',
    'Verdict:   denied with nobody there; a person is asked at an attached terminal',
    'Sandbox:   LOW and allowed where the agent runs in a sandbox (the sandbox holds it: rm deletes files)',
    'Decided:   HIGH risk, and no rule says otherwise',
    'Reason:    rm deletes files; leave the file where it is and name it in your report',
    'What would change it:',
    "  - a rule for exactly this, no wider: pcc rules add allow Bash 'ls src | head; rm -rf build'",
    '  - to be asked later and not refused at once: pcc config set permissions.unattended_high wait',
    '  - another way to the same end: leave the file where it is and name it in your report',
    '',
  ])
  assert.equal(existsSync(join(pcc.home, 'pcc/run')), false, 'no daemon was started')
})

test('each proposed change does change the verdict', async t => {
  const pcc = pccFor(t)
  const verdictOf = async (command: string) => {
    const { stdout } = await pcc.run(['explain', '--json', command])
    return JSON.parse(stdout) as { verdict: string; decided: string; would_change: string[] }
  }
  const command = 'rm -rf build'
  assert.equal((await verdictOf(command)).verdict, 'deny')
  await pcc.run(['rules', 'add', 'allow', 'Bash', command])
  const allowed = await verdictOf(command)
  assert.equal(allowed.verdict, 'allow')
  assert.match(allowed.decided, /^the rule "allow Bash rm -rf build" \(.*rules\.toml:1\)$/)
  assert.deepEqual(allowed.would_change, ['without the rule: pcc rules remove 1', 'a later rule that matches as well'])
  assert.equal((await verdictOf('rm -rf build/x')).verdict, 'deny')
  await pcc.run(['rules', 'remove', '1'])
  assert.equal((await verdictOf(command)).verdict, 'deny')
  assert.equal((await verdictOf('git status')).verdict, 'allow')
  await pcc.run(['config', 'set', 'brain.confidence_threshold', '1'])
  assert.equal((await verdictOf('git status')).verdict, 'ask')
  assert.equal((await verdictOf('ls')).verdict, 'allow')
  await pcc.run(['config', 'set', 'permissions.auto_approve_low_risk', 'false'])
  assert.equal((await verdictOf('ls')).verdict, 'ask')
  assert.match((await verdictOf('sudo ls')).decided, /blocked_commands/)
  assert.deepEqual((await verdictOf('frob a\nfrob b')).would_change, ['your answer when it is asked'])
})

test('other tools are explained by path or by their whole input, as seen from a project', async t => {
  const pcc = pccFor(t)
  const project = join(pcc.home, 'proj')
  mkdirSync(join(project, '.perpetualcc'), { recursive: true })
  const risk = async (...args: string[]) => {
    const { stdout } = await pcc.run(['explain', '--json', '--project', project, ...args])
    const { risk, verdict } = JSON.parse(stdout) as { risk: string; verdict: string }
    return `${risk} ${verdict}`
  }
  assert.equal(await risk('--tool', 'Write', '--path', 'src/a.ts'), 'LOW allow')
  assert.equal(await risk('--tool', 'Write', '--path', '../a.ts'), 'HIGH deny')
  assert.equal(await risk('--tool', 'Read', '--path', '.env'), 'HIGH deny')
  assert.equal(await risk('--tool', 'WebFetch', '--input', '{"url":"https://example.com/docs"}'), 'MEDIUM allow')
  assert.equal(await risk('--tool', 'TodoWrite'), 'LOW allow')
  writeFileSync(join(project, '.perpetualcc/rules.toml'), '[[rules]]\neffect = "deny"\ntool = "Write"\n')
  assert.equal(await risk('--tool', 'Write', '--path', 'src/a.ts'), 'LOW deny')
})

test('a call that is missing or given twice is refused', async t => {
  const pcc = pccFor(t)
  const wrong = [
    [],
    ['ls', '--path', 'x'],
    ['--path', 'x'],
    ['--tool', 'Write', '--input', '{'],
    ['--batch', 'ls'],
    ['ls', '--frob'],
  ]
  for (const args of wrong) {
    const { code, stdout, stderr } = await pcc.run(['explain', ...args])
    assert.deepEqual([code, stdout], [2, ''], args.join(' '))
    assert.match(stderr, /See: pcc explain --help/)
  }
})

test('nothing in a command reaches the terminal as more than text', async t => {
  const pcc = pccFor(t)
  const { stdout } = await pcc.run(['explain', 'echo \x1b[2J\u202e; rm \x07x'])
  assert.match(stdout, /^HIGH /)
  assert.doesNotMatch(stdout, /[\x00-\x09\x0b-\x1f\u202e]/)
})

test('an answer that is remembered is named with its day, here only, and a rule goes before it', async t => {
  const pcc = pccFor(t)
  const { database } = appPathsFor({ env: pcc.env })
  const explain = async (command: string, cwd = pcc.home) =>
    JSON.parse((await pcc.run(['explain', '--json', command], { cwd })).stdout) as Record<string, unknown>
  assert.equal((await explain('ln -s a b'))['verdict'], 'ask', 'there is no store yet')
  {
    await using store = await openStore({ file: database })
    const memory = openPrecedents(store, { now: () => Date.UTC(2026, 10, 12) })
    const answer = { project: realpathSync(pcc.home), tool: 'Bash', risk: 'MEDIUM', by: 'human' } as const
    await memory.remember({ ...answer, normalised: 'Bash ln -s a b', verdict: 'allow' })
    await memory.remember({ ...answer, normalised: 'Bash ln -s a c', verdict: 'deny', by: 'ann' })
  }
  const approved = await explain('ln -s a b')
  assert.deepEqual([approved['verdict'], approved['by']], ['allow', 'precedent'])
  assert.equal(approved['decided'], 'you answered this on 2026-11-12: approve')
  assert.deepEqual(approved['would_change'], [
    "to be asked: pcc rules add ask Bash 'ln -s a b'",
    "to forbid it: pcc rules add deny Bash 'ln -s a b'",
  ])
  const denied = await explain('ln  -s a c')
  assert.deepEqual([denied['verdict'], denied['decided']], ['deny', 'ann answered this on 2026-11-12: deny'])
  assert.deepEqual(denied['would_change'], ["to allow it: pcc rules add allow Bash 'ln -s a c'"])
  assert.equal((await explain('ln -s a b', '/'))['verdict'], 'ask', 'another project')
  assert.match(
    (await pcc.run(['rules', 'test', 'ln -s a b'])).stdout,
    /^allow {2}MEDIUM risk; you answered this on 2026-11-12: approve\n/,
  )
  await pcc.run(['rules', 'add', 'ask', 'Bash', 'ln *'])
  assert.deepEqual([(await explain('ln -s a b'))['verdict'], (await explain('ln -s a c'))['verdict']], ['ask', 'ask'])
  assert.equal(existsSync(join(pcc.home, 'pcc/run')), false, 'no daemon was started')
})

test('what nobody can allow in the worktree of a task is said by explain and by rules add, and a rule is not praised for it', async t => {
  const pcc = pccFor(t)
  const project = gitProject(t, { 'src/a.ts': 'a' })
  const explain = async (...call: string[]) =>
    JSON.parse((await pcc.run(['explain', '--project', project, '--json', ...call])).stdout) as {
      verdict: string
      in_task: { verdict: string; reason: string } | null
      would_change: string[]
    }
  const push = 'git push --force origin main'
  const why = "git push is left to pcc in a task's worktree: commit here; pcc merges it"
  const { in_task, would_change } = await explain(push)
  assert.deepEqual(in_task, { verdict: 'deny', reason: why })
  assert.match(would_change[0] ?? '', /pcc rules add allow Bash '.*' \(without effect in a task's worktree\)$/)
  const { stdout } = await pcc.run(['explain', push], { cwd: project })
  assert.ok(stdout.includes(`In a task: denied, whatever rules or people say: ${why}\n`), stdout)
  const added = await pcc.run(['rules', 'add', 'allow', 'Bash', push], { cwd: project })
  assert.match(
    added.stderr,
    /It has no effect in the worktree of a task, where nobody can allow this: git push is left/,
  )
  assert.deepEqual([(await explain(push)).verdict, (await explain(push)).in_task?.verdict], ['allow', 'deny'])
  for (const call of [['rm -rf src'], ['git commit -m x'], ['--tool', 'Write', '--path', join(project, 'src/a.ts')]])
    assert.equal((await explain(...call)).in_task, null, call.join(' '))
  // In a worktree, whose commits are archived, the sandbox is enough for a single file.
  assert.equal((await explain('rm src/a.ts')).in_task?.verdict, 'allow')
  const removal = await pcc.run(['explain', 'rm src/a.ts'], { cwd: project })
  assert.match(
    removal.stdout,
    /Verdict: +denied.*\nIn a task: LOW and allowed in the worktree of a task in a sandbox \(/,
  )
  const other = await pcc.run(['rules', 'add', 'allow', 'Bash', 'rm -rf src'], { cwd: project })
  assert.doesNotMatch(other.stderr, /no effect/)
})
