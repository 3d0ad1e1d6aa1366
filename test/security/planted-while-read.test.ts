import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { NOTES_FOLDER } from '../../src/knowledge/read-notes.ts'
import { recordNote } from '../../src/knowledge/record-note.ts'
import { git } from '../../src/workspace/git/git.ts'
import { bareEnv, gitProject, tempDir } from '../support/world.ts'

/** A file of the person, and an agent that puts a link to it at a path and takes it away again, all the time. */
async function flipLink(t: TestContext, at: string): Promise<{ victim: string; AS_IT_WAS: string }> {
  const AS_IT_WAS = '# as it was\n'
  const victim = join(tempDir(t), '.bashrc')
  writeFileSync(victim, AS_IT_WAS)
  const script = `const { symlinkSync, rmSync, writeSync } = require('node:fs')
const [victim, at] = process.argv.slice(1)
const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
for (let first = true; ; first = false) {
  rmSync(at, { force: true })
  pause()
  try { symlinkSync(victim, at) } catch {}
  if (first) writeSync(1, 'begun')
  pause()
}`
  const agent = spawn(process.execPath, ['-e', script, victim, at], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(async () => {
    agent.kill('SIGKILL')
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit')
  })
  await once(agent.stdout, 'data')
  return { victim, AS_IT_WAS }
}

test('a link that appears while the notes are read leads no note out of the project', async t => {
  const project = tempDir(t)
  const folder = join(project, NOTES_FOLDER)
  mkdirSync(folder, { recursive: true })
  // The more there is to read, the more time an agent has.
  const long = `---\ntitle: long\n---\n${'x\n'.repeat(10_000)}`
  for (let number = 0; number < 20; number++) writeFileSync(join(folder, `${number}.md`), long)
  const { victim, AS_IT_WAS } = await flipLink(t, join(folder, 'evil.md'))
  const recording = { project, by: 'agent' as const, lockFile: join(tempDir(t), 'lock') }
  // Each title is new, and each would be written to the same file.
  for (let now = 1; now <= 20; now++)
    recordNote({ title: `evil${'!'.repeat(now)}`, tags: [], body: `touch ${now}` }, { ...recording, now })
  assert.equal(readFileSync(victim, 'utf8'), AS_IT_WAS)
})

test('a link that appears after git was looked at leads no log of commits out of the repository', async t => {
  const project = gitProject(t)
  const [home, worktree] = [tempDir(t), join(tempDir(t), 'task')]
  const who = { name: 'A', email: 'a@example.invalid' }
  const env = { ...bareEnv(home), GIT_AUTHOR_NAME: who.name, GIT_AUTHOR_EMAIL: who.email }
  execFileSync('git', ['worktree', 'add', '-q', '-b', 'pcc/task', worktree], { cwd: project, env })
  const { victim, AS_IT_WAS } = await flipLink(t, join(project, '.git/logs/refs/heads/pcc/task'))
  const committer = { GIT_COMMITTER_NAME: who.name, GIT_COMMITTER_EMAIL: who.email }
  const commit = ['commit', '--allow-empty', '-q', '-m', '$(touch evil)']
  const ends: Awaited<ReturnType<typeof git>>[] = []
  // On a busy machine the link is in the way more often than not.
  while (ends.length < 20 || (ends.length < 300 && !ends.some(({ ok }) => ok)))
    ends.push(await git(worktree, commit, { env: { ...env, ...committer } }))
  assert.equal(readFileSync(victim, 'utf8'), AS_IT_WAS)
  assert.ok(ends.some(({ ok }) => ok))
})

/** Runs in a process of its own: whoever opens a pipe at once stands still for ever. */
const READERS = {
  'the installed packages that a result depends on': `
    const { resultKey } = await import(source + 'workspace/verify/result-key.ts')
    resultKey({ tree: '', command: 'x', inside: '', directory: pipeAt('bun.lock'), env: {}, purpose: 'gate' })`,
  'the conversation of an agent': `
    const { TranscriptReader, fileSize } = await import(source + 'agents/json-lines.ts')
    const file = join(pipeAt('talk.jsonl'), 'talk.jsonl')
    new TranscriptReader({ path: file, offset: 0 }).read()
    fileSize(file)`,
  'the state of an agent in tmux': `
    const { AgentWindow } = await import(source + 'agents/tmux/agent-window.ts')
    const config = pipeAt('sessions/1.json')
    new AgentWindow('w', { saved: { config, pid: 1, sandboxed: true } }).state()`,
  'the calls that hooks refused': `
    const { TmuxSessionFolder } = await import(source + 'agents/tmux/session-folder.ts')
    new TmuxSessionFolder(pipeAt('tmux/s/refusals/refused'), 's').takeRefused()`,
  'the settings of a project': `
    const { readConfigFile } = await import(source + 'domain/config/layers.ts')
    await readConfigFile(join(pipeAt('config.toml'), 'config.toml'), '/').catch(() => undefined)`,
  'the text of a plan': `
    const { readDocument } = await import(source + 'tasks/features.ts')
    await readDocument({ project: pipeAt('.perpetualcc/features/f/plan.md'), name: 'f' }, 'plan').catch(() => undefined)`,
  'what the index of the code depends on': `
    const { FreshnessCheck } = await import(source + 'knowledge/index/freshness.ts')
    new FreshnessCheck(pipeAt('.git/HEAD')).begin().complete([])`,
}

test('no pipe that an agent leaves stops the daemon', async t => {
  const cases = Object.entries(READERS).map(
    ([name, code]) => `{ ${code}\n}\nwriteSync(1, ${JSON.stringify(`${name}\n`)})`,
  )
  const script = `import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
const source = ${JSON.stringify(fileURLToPath(new URL('../../src/', import.meta.url)))}
const pipeAt = name => {
  const folder = mkdtempSync(join(process.cwd(), 'x'))
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  execFileSync('mkfifo', [join(folder, name)])
  return folder
}
${cases.join('\n')}`
  const home = tempDir(t)
  const { promise, resolve } = Promise.withResolvers<{ error: Error | null; said: string }>()
  execFile(
    process.execPath,
    ['--input-type=module', '-e', script],
    { cwd: home, env: bareEnv(home), timeout: 30_000, killSignal: 'SIGKILL' },
    (error, stdout, stderr) => resolve({ error, said: `${stdout}${stderr}` }),
  )
  const { error, said } = await promise
  assert.deepEqual(said.trimEnd().split('\n'), Object.keys(READERS), `${error?.message}`)
})
