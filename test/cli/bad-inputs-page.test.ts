import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { BIN } from '../support/program.ts'
import { type Pcc, pccFor } from './pcc.ts'

interface BadInput {
  typed: string
  exit: number
  message: string
}

/** The rows of the page: what is typed, the exit code, the message and what to do next. */
function rowsOfPage(): BadInput[] {
  const page = readFileSync(new URL('../../docs/bad-input.md', import.meta.url), 'utf8')
  return [...page.matchAll(/^\| `(.+?)` \| (\d+) \| (.+) \|$/gm)].map(([, typed = '', exit, message = '']) => ({
    typed,
    exit: Number(exit),
    message: message.replaceAll('\\|', '|'),
  }))
}

/** A project with one task, and a `pcc` on the PATH of its shell. */
async function setUp(pcc: Pcc): Promise<{ project: string; kept: string; env: Record<string, string> }> {
  const bin = join(pcc.home, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'pcc'), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`)
  chmodSync(join(bin, 'pcc'), 0o755)
  const project = join(pcc.home, 'library')
  mkdirSync(join(project, 'closed'), { recursive: true })
  writeFileSync(join(project, 'README.md'), '# Library\n')
  writeFileSync(join(project, 'empty.md'), '')
  // A file where the folder of notes would be stops root too, whom no permission stops.
  writeFileSync(join(project, 'closed/.perpetualcc'), '')
  execFileSync('git', ['init', '-q', '-b', 'main', project])
  const { stdout } = await pcc.run(['task', 'add', 'Keep me', '--json'], { cwd: project })
  const { task } = JSON.parse(stdout) as { task: { id: string } }
  return { project, kept: task.id, env: { ...pcc.env, PATH: `${bin}:${pcc.env['PATH']}` } }
}

test('every bad input of the page gets the message and exit code that the page says, and nothing is lost', async t => {
  const rows = rowsOfPage()
  assert.ok(rows.length >= 50, `${rows.length} rows`)
  const pcc = pccFor(t)
  const { project, kept, env } = await setUp(pcc)
  const answers: BadInput[] = []
  for (const { typed } of rows) {
    const child = spawn('sh', ['-c', typed.replace('t-kept00', kept)], {
      cwd: project,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    assert.equal(stdout, '', typed)
    answers.push({
      typed,
      exit: child.exitCode ?? -1,
      message: shown(stderr).replaceAll(project, '…').replaceAll(pcc.home, '~').replaceAll(kept, 't-kept00'),
    })
  }
  assert.deepEqual(answers, rows)
  const { tasks } = JSON.parse((await pcc.run(['task', 'list', '--json'], { cwd: project })).stdout) as {
    tasks: unknown[]
  }
  assert.equal(tasks.length, 1, 'no task was added or lost')
  assert.equal((await pcc.run(['list', '--all'])).stdout, 'No sessions yet. Start one with: pcc start . --task "…"\n')
  for (const { message } of rows) assert.doesNotMatch(message, /\b(GET|POST|DELETE) \//, 'no route is named')
})

/** The error and what to do next, on one line. */
function shown(stderr: string): string {
  return stderr
    .replace(/^error: /, '')
    .replace(/\n {2}next: /, ' **Next:** ')
    .trim()
}
