import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { openAccountGates } from '../../../src/agents/limits/account-gates.ts'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { accountOf } from '../../../src/domain/account.ts'
import { NOTHING_SPENT } from '../../../src/domain/budget.ts'
import { accountLabel } from '../../../src/domain/vendors.ts'
import { openStore } from '../../../src/store/open.ts'
import { bookSpending } from '../../../src/tasks/budgets.ts'
import { onTerminal } from '../../e2e/pty.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { pccFor } from '../pcc.ts'

test('before a run each thing that is not right is one line with what helps, on standard error; a clean project has none', async t => {
  const pcc = pccFor(t)
  const project = gitProject(t, { 'a.txt': 'a\n', '.perpetualcc.toml': 'version = 1\n[gates]\ntest = "true"\n' })
  const git = (...args: string[]) => execFileSync('git', args, { cwd: project, env: bareEnv(project), stdio: 'pipe' })
  await pcc.run(['task', 'add', 'x', '--project', project])
  writeFileSync(join(project, 'a.txt'), 'mine\n')
  mkdirSync(join(project, '.claude'))
  writeFileSync(join(project, '.claude', 'settings.json'), '{}')
  const first = await pcc.run(['run', project, '--dry-run', '--json'])
  assert.equal(JSON.parse(first.stdout).steps.length, 1, 'standard output is data')
  assert.match(
    first.stderr,
    /^! login +no login and no key of claude found.*\n +→ pcc agents login, or set ANTHROPIC_API_KEY/,
  )
  assert.match(
    first.stderr,
    /! checkout +not committed: a\.txt.*\n +→ git add -- a\.txt \.claude\/ && git commit -m 'Changes before pcc works', or git stash\n/,
  )
  assert.match(first.stderr, /! trust +left out until you agree: gates\.test\n +→ pcc trust /)
  assert.equal(first.stderr.match(/^!/gm)?.length, 3)

  await pcc.run(['trust', project, '--yes'])
  git('checkout', '-q', '--', 'a.txt')
  mkdirSync(join(pcc.home, '.claude'))
  writeFileSync(join(pcc.home, '.claude', '.credentials.json'), '{}')
  assert.equal((await pcc.run(['run', project, '--dry-run'])).stderr, '')
  const open = await pcc.run(['run', project, '--dry-run'], { env: { PCC_AGENTS_SANDBOX: 'off' } })
  assert.match(
    open.stderr,
    /^! sandbox +There is no sandbox: what the agent writes and runs can do all that you can[\s\S]*→ pcc config set agents\.sandbox auto\n$/,
  )
  git('checkout', '-q', '--detach')
  assert.match(
    (await pcc.run(['run', project, '--dry-run'])).stderr,
    /^! branch +HEAD is on no branch.*\n +→ git switch main\n/,
  )
})

test('a repository without a commit is named before a run, with the first commit that helps; files belong to it', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'k' })
  const project = tempDir(t)
  execFileSync('git', ['init', '-q'], { cwd: project, env: bareEnv(project) })
  const seen = async () => (await pcc.run(['run', project, '--dry-run'])).stderr
  assert.match(
    await seen(),
    /^! branch +the repository has no commit yet: tasks work in the project itself.*\n +→ git commit --allow-empty -m 'First commit'\n/,
  )
  writeFileSync(join(project, 'a.txt'), 'a\n')
  assert.match(await seen(), /→ git add --all && git commit -m 'First commit'\n/)
})

const ASK = { ANTHROPIC_API_KEY: 'k', PCC_GATES_UNPROVEN: 'ask' }
const CHECKED = { 'package.json': '{"scripts":{"test":"node --test"}}\n' }

test('before a run the checks that are not set up are named, with what becomes of the work until they are', async t => {
  const pcc = pccFor(t, ASK)
  const seen = async (project: string) => (await pcc.run(['run', project, '--dry-run'])).stderr
  assert.match(
    await seen(gitProject(t, CHECKED)),
    /^! checks +the checks of this project are not set up: npm test; until then work stays unverified .* not merged\n +→ pcc gates detect \S+ --write --trust/,
  )
  assert.match(await seen(gitProject(t)), /^! checks +no command was found .*; a verifier judges the work\n/)
  const plain = tempDir(t)
  assert.match(
    await seen(plain),
    /no command was found [^\n]*; each task waits for your review\n/,
    'no git, no verifier',
  )
  const untrusted = gitProject(t, { '.perpetualcc.toml': 'version = 1\n[gates]\ntest = "true"\n' })
  assert.match(
    await seen(untrusted),
    /^! trust +left out until you agree: gates\.test; until then work stays unverified/,
  )
  assert.equal((await pcc.run(['config', 'set', 'execution.verify', 'false'])).code, 0)
  assert.equal(await seen(gitProject(t, CHECKED)), '', 'work that is not verified is merged without checks')
})

test('at a terminal the checks of a project are shown before its first run, and one yes writes and trusts them', async t => {
  const pcc = pccFor(t, ASK)
  const project = gitProject(t, CHECKED)
  const terminal = onTerminal(t, pcc, ['run', project])
  await terminal.see(
    /not set up: npm test[\s\S]*Run now:\s+pcc\s+gates\s+detect\s[\s\S]*\s--write\s+--trust\? \[Y\/n\]/,
  )
  terminal.type('\r')
  await terminal.see(/no tasks|nothing/i)
  assert.match(readFileSync(join(project, '.perpetualcc.toml'), 'utf8'), /test = "npm test"/)
  assert.match((await pcc.run(['gates', project])).stdout, /test +npm test\n/, 'they are in force')
})

test('a yes to the checks agrees to nothing else that a project brings in', async t => {
  const pcc = pccFor(t, ASK)
  const settings = JSON.stringify({ hooks: { PreToolUse: [{ hooks: [{ type: 'command', command: 'true' }] }] } })
  const project = gitProject(t, { ...CHECKED, '.claude/settings.json': settings })
  const terminal = onTerminal(t, pcc, ['run', project])
  await terminal.see(/Run now:\s+pcc\s+gates\s+detect\s[\s\S]*\s--write\s+--trust\? \[Y\/n\]/)
  terminal.type('\r')
  await terminal.see(/brings\s+in\s+more\s+than\s+this[\s\S]*pcc trust/)
  assert.match((await pcc.run(['trust', 'status', project])).stdout, /Not trusted/)
})

test('at a terminal a person is asked whether to mend it now, and it is done before the run begins', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'k' })
  const project = gitProject(t, { '.perpetualcc.toml': 'version = 1\n[gates]\ntest = "true"\n' })
  execFileSync('git', ['checkout', '-q', '--detach'], { cwd: project, env: bareEnv(project), stdio: 'pipe' })
  const terminal = onTerminal(t, pcc, ['run', project])
  await terminal.see(
    /! branch [\s\S]*! trust +left out[\s\S]*✓ sandbox +on; network: the machine's own \(cloud metadata addresses are refused by name\)[\s\S]*Run now: git switch main\? \[Y\/n\]/,
  )
  terminal.type('\r')
  await terminal.see(/Let this content take effect[\s\S]*\[y\/N\]/)
  terminal.type('y\r')
  await terminal.see(/no tasks|nothing/i)
  assert.equal(
    (await pcc.run(['run', project, '--dry-run'])).stderr,
    '',
    'the branch is checked out and the gates are trusted now',
  )
})

test('Ctrl+C at a question before a run ends the command: no run begins', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'k' })
  const files = { 'a.txt': 'a\n', '.perpetualcc.toml': 'version = 1\n[gates]\ntest = "true"\n' }
  const project = gitProject(t, files)
  const untrusted = onTerminal(t, pcc, ['run', project, '--detach'])
  await untrusted.see(/Let this content take effect[\s\S]*\[y\/N\]/)
  untrusted.type('\x03')
  assert.equal(await untrusted.exit, 130, 'a question of a command that was started belongs to the whole')
  await pcc.run(['trust', project, '--yes'])
  writeFileSync(join(project, 'a.txt'), 'mine\n')
  const dirty = onTerminal(t, pcc, ['run', project, '--detach'])
  await dirty.see(/Run now: git add -- a\.txt && git commit -m 'Changes before pcc works'\? \[y\/N\]/)
  dirty.type('\x03')
  assert.equal(await dirty.exit, 130)
  assert.deepEqual(JSON.parse((await pcc.run(['runs', '--json'])).stdout).runs, [])
})

test('unfinished work of a person is committed for a yes alone, and is no topic where no merge touches their checkout', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'k' })
  const project = gitProject(t, { 'a.txt': 'a\n', '.perpetualcc.toml': 'version = 1\n[gates]\ntest = "true"\n' })
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: project, env: bareEnv(project), encoding: 'utf8', stdio: 'pipe' })
  await pcc.run(['trust', project, '--yes'])
  writeFileSync(join(project, 'a.txt'), 'half done\n')
  const terminal = onTerminal(t, pcc, ['run', project])
  await terminal.see(/not committed: a\.txt[\s\S]*Run now: git add .*\? \[y\/N\]/)
  terminal.type('\r')
  await terminal.see(/no tasks|nothing/i)
  assert.match(git('status', '--short'), /^ M a\.txt$/m)
  git('branch', 'release')
  const elsewhere = await pcc.run(['run', project, '--dry-run'], { env: { PCC_MERGE_TARGET: 'release' } })
  assert.equal(elsewhere.stderr, '')
  assert.equal((await pcc.run(['run', project, '--dry-run'], { env: { PCC_MERGE_MODE: 'pr' } })).stderr, '')
})

test('a check whose program is not on the PATH is named before a run, with the file to change', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'k' })
  const gates =
    'build = "cd src && CI=1 no-such-builder all"\nlint = "test -d ."\ntest = "no-such-python -m unittest"\n'
  const project = gitProject(t, { '.perpetualcc.toml': `version = 1\n[gates]\n${gates}` })
  await pcc.run(['trust', project, '--yes'])
  const { stderr } = await pcc.run(['run', project, '--dry-run'])
  assert.match(stderr, /! checks +build cannot run: no-such-builder is not on the PATH \(cd src && CI=1/)
  assert.match(
    stderr,
    /! checks +test cannot run: no-such-python is not on the PATH [\s\S]*→ Install no-such-python, or change gates\.test \(\S+\.perpetualcc\.toml:5\)/,
  )
  assert.equal(stderr.match(/^!/gm)?.length, 2, stderr)
})

test('what is run at once uses the settings and the data that the command itself was given', async t => {
  const pcc = pccFor(t, ASK)
  const project = gitProject(t, CHECKED)
  writeFileSync(join(pcc.home, 'other.toml'), 'version = 1\n')
  const place = ['--config', 'other.toml', '--data-dir', 'other']
  const terminal = onTerminal(t, pcc, [...place, 'run', project])
  await terminal.see(
    /Run now:\s+pcc\s+--config\s+\S+\/other\.toml\s+--data-dir\s+\S+\/other\s+gates\s+detect [\s\S]*\? \[Y\/n\]/,
  )
  terminal.type('\r')
  await terminal.see(/no tasks|nothing/i)
  assert.equal(existsSync(join(pcc.home, 'pcc', 'run')), false, 'no second daemon was started')
  const again = await pcc.run([...place, 'run', project, '--dry-run'])
  await pcc.run([...place, 'daemon', 'stop'])
  assert.equal(again.stderr, '')
})

test('a login that was refused is named before a run, for that key alone and without a run that may be over', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'refused' })
  const project = gitProject(t, { '.perpetualcc.toml': 'version = 1\n' })
  const { database } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(database), { recursive: true })
  const account = accountOf({ kind: 'claude', name: 'claude' }, pcc.env)
  {
    await using store = await openStore({ file: database })
    await store.quota.label(account, accountLabel('claude', pcc.env))
    const message = 'The login was refused.\nexport ANTHROPIC_API_KEY=<new key> && pcc resume r-0a0a0a --detach'
    const gates = openAccountGates({ store, clock: systemClock })
    await gates.close(account, { fault: 'login', message, source: 'result' })
  }
  const seen = async (ANTHROPIC_API_KEY: string) =>
    (await pcc.run(['run', project, '--dry-run'], { env: { ANTHROPIC_API_KEY } })).stderr
  assert.match(
    await seen('refused'),
    /! account +at its last use: The login was refused\.\n +→ export ANTHROPIC_API_KEY=<new key>, then run this again\n/,
  )
  assert.doesNotMatch(await seen('another'), /account/)
  assert.equal((await pcc.run(['quota', 'hold'])).code, 0)
  assert.match(await seen('another'), /! account +you hold all of them back; work waits\n +→ pcc quota release\n/)
})

test('a budget that is spent is named before a run, with a limit that is high enough', async t => {
  const pcc = pccFor(t, {
    ...ASK,
    PCC_GATES_UNPROVEN: 'allow',
    PCC_BUDGETS_DAY_COST_USD: '1',
    PCC_BUDGETS_PROJECT_TURNS: '9',
  })
  const project = gitProject(t)
  const { database } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(database), { recursive: true })
  {
    await using store = await openStore({ file: database })
    const amounts = { ...NOTHING_SPENT, cost_usd: 5.63, turns: 9 }
    await store.transaction(tx =>
      bookSpending({ id: null, project, task_id: null }, amounts, { store, clock: systemClock, tx }),
    )
  }
  const { stderr } = await pcc.run(['run', project, '--dry-run'])
  assert.match(
    stderr,
    /^! budget +The day's budget of 1\.00 usd is spent \(5\.63 usd\): work waits .*\n +→ pcc config set budgets\.day\.cost_usd 8\n/,
  )
  assert.match(
    stderr,
    /! budget +The project's budget of 9 turns is spent .*\n +→ pcc config set budgets\.project\.turns 18, or pcc budget reset /,
  )
})

test('an agent whose program is not there is named before the work begins, with how to get it', async t => {
  const pcc = pccFor(t, { ...ASK, PCC_GATES_UNPROVEN: 'allow' })
  const project = gitProject(t)
  const seen = async (...args: string[]) => (await pcc.run(['run', project, '--dry-run', ...args])).stderr
  const none = join(pcc.home, 'none')
  assert.match(
    await seen('--agent', none),
    /^! agent +the program of none .* is not there; nothing can begin without it\n +→ it is your own/,
  )
  assert.equal((await pcc.run(['config', 'set', 'agents.path', none])).code, 0)
  assert.match(
    await seen(),
    /^! agent +the program of \w.* is not there.*\n +→ \S+none cannot be run; pcc config reset/,
  )
})

test('without a terminal a start says what is not right before anything of the session', async t => {
  const pcc = pccFor(t)
  const child = pcc.spawn(['start', gitProject(t), '--task', 'x', '--detach', '--agent', join(pcc.home, 'none')])
  let both = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', text => (both += text))
  await once(child, 'close')
  assert.match(both, /^! agent +the program of none [\s\S]*\n\S*[Ee]rror/)
})
