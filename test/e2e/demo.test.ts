import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type Pcc, pccFor } from '../cli/pcc.ts'

/** A temporary directory of the test's own, so that whatever the demo leaves can be seen. */
function withTemp(t: TestContext, pcc: Pcc): { dir: string; env: Record<string, string> } {
  const dir = join(pcc.home, 'tmp')
  mkdirSync(dir)
  t.after(() => {
    for (const pid of processesIn(dir)) process.kill(Number(pid), 'SIGKILL')
  })
  return { dir, env: { TMPDIR: dir } }
}

/** Processes that were started in a world under this directory. */
function processesIn(dir: string): string[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .filter(
      pid =>
        read(`/proc/${pid}/environ`).includes(`${dir}/pcc-demo-`) ||
        read(`/proc/${pid}/cmdline`).includes(`${dir}/pcc-demo-`),
    )
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return '' // ended meanwhile, or not ours to read
  }
}

/** What is left of it; Node's own cache of compiled code is not the demo's. */
function leftIn(dir: string): string[] {
  return readdirSync(dir).filter(name => name.startsWith('pcc'))
}

test('the demo does its job, shows it, proves it and leaves nothing behind', async t => {
  const pcc = pccFor(t)
  const { dir, env } = withTemp(t, pcc)
  // A caller's own settings would break it: they must not be seen.
  const foreign = join(pcc.home, 'foreign')
  const hostile = {
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:9',
    ANTHROPIC_MODEL: 'callers-own-model',
    PCC_DATA_DIRECTORY: foreign,
    CLAUDE_CONFIG_DIR: foreign,
  }
  const { code, stdout, stderr } = await pcc.run(['demo'], { env: { ...env, ...hostile } })
  assert.equal(code, 0, stdout + stderr)
  for (const line of [
    /╭─ PerpetualCC Session: demo ─+╮/,
    /\[TOOL\] Read → test\/slug\.test\.js ✓ \(auto-approved\)/,
    /QUESTION from Claude:/,
    /\[1-2\] Select {2}\[T\]ype custom {2}> \(scripted person\) 2/,
    /\[TOOL\] Write → src\/slug\.js ✓ \(auto-approved\)/,
    /\[PLAN\] 3 of 3 done/,
    /\[TOOL\] Bash → node --test ✓ \(allowed: inside the project/,
    /\[TOOL\] Bash → git add src\/slug\.js && git commit -m 'Add slug\(\)' ✓ \(allowed: inside the project/,
    /\[TOOL\] Bash → sudo npm install --global slugs ✗ \(denied by a rule\)\n +"sudo" is a blocked command/,
    /That is blocked here, so I leave it/,
    /PERMISSION wanted: Bash\n +rm -rf \.\.\/backups\n +HIGH risk/,
    /\[TOOL\] Bash → rm -rf \.\.\/backups ✗ \(denied by scripted person\)/,
    /Summary of s-\w+ \(demo\)/,
    /Done: +wrote src\/slug\.js\n +ran node --test ✓\n +ran git add/,
    /Refused: +Bash → sudo npm install --global slugs ✗ by rule/,
    /Bash → rm -rf \.\.\/backups ✗ by scripted person/,
    /Took: .*\nTokens: .*\nCost: +\$/,
    / ✓ its tests pass\n.* ✓ the backups outside the project are untouched/,
  ]) {
    assert.match(stdout, line)
  }
  assert.doesNotMatch(stdout, /✗ (the|src|its)|callers-own/)
  assert.equal(existsSync(foreign), false)
  assert.deepEqual(leftIn(dir), [])
  assert.deepEqual(processesIn(dir), [])
})

test('a demo that is interrupted stops its agent and its daemon, which saw nothing of the caller, and cleans up', async t => {
  const pcc = pccFor(t)
  const { dir, env } = withTemp(t, pcc)
  const own = { ANTHROPIC_AUTH_TOKEN: 'callers-own', SOME_SECRET: 'callers-own' }
  const demo = pcc.spawn(['demo', '--json'], { env: { ...env, ...own } })
  let seen = ''
  await new Promise<void>(resolve => {
    demo.stdout?.on('data', chunk => {
      seen += chunk
      if (seen.includes('agent.said')) resolve()
    })
  })
  const running = processesIn(dir)
  assert.ok(running.length >= 2, 'the daemon and the agent were found')
  assert.ok(running.every(pid => !read(`/proc/${pid}/environ`).includes('callers-own')))
  const errors = demo.stderr ? text(demo.stderr) : ''
  demo.kill('SIGINT')
  const [code] = await once(demo, 'close')
  assert.equal(code, 130, await errors)
  assert.deepEqual(leftIn(dir), [])
  assert.deepEqual(processesIn(dir), [])
})

test('a demo whose reader leaves cleans up too', async t => {
  const pcc = pccFor(t)
  const { dir, env } = withTemp(t, pcc)
  const demo = pcc.spawn(['demo'], { env })
  if (demo.stdout) await once(demo.stdout, 'data')
  demo.stdout?.destroy()
  await once(demo, 'exit')
  assert.deepEqual(leftIn(dir), [])
  assert.deepEqual(processesIn(dir), [])
})
