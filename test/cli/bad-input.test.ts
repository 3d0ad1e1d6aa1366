import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { BIN } from '../support/program.ts'
import { type Pcc, pccFor } from './pcc.ts'

/** Runs a command that must be refused without starting a daemon, and returns its stderr. */
async function refusal(pcc: Pcc, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await pcc.run(args)
  assert.equal(code, 2, `${args.join(' ')}: ${stderr}`)
  assert.equal(stdout, '', args.join(' '))
  assert.ok(!existsSync(appPathsFor({ env: pcc.env }).socket), 'no daemon was started')
  return stderr
}

test('mistyped commands and flags are refused with a suggestion', async t => {
  const pcc = pccFor(t)
  assert.equal(
    await refusal(pcc, ['lst']),
    "error: unknown command 'lst' (did you mean list?)\n  next: See all commands with: pcc --help\n",
  )
  assert.match(await refusal(pcc, ['l\x1b]0;x\x07st']), /^error: unknown command 'l␛]0;x␇st'/)
  assert.match(
    await refusal(pcc, ['start', '.', '--tsk', 'x']),
    /unknown option '--tsk' \(did you mean --task\?\)\n {2}next: See: pcc start --help/,
  )
  assert.match(await refusal(pcc, ['list', '--jsn']), /unknown option '--jsn' \(did you mean --json\?\)/)
  assert.match(await refusal(pcc, ['--vebose', 'list']), /unknown option '--vebose' \(did you mean --verbose\?\)/)
  assert.match(await refusal(pcc, ['--vrsion']), /unknown option '--vrsion' \(did you mean --version\?\)/)
  assert.match(await refusal(pcc, ['status']), /missing required argument 'session'/)
  assert.match(await refusal(pcc, ['list', 'extra']), /too many arguments/)
  assert.match(await refusal(pcc, ['config', 'brain', 'frob']), /\n {2}next: See: pcc config brain --help\n$/)
  assert.match(await refusal(pcc, ['rules', 'add', 'maybe', 'Bash']), /\n {2}next: See: pcc rules add --help\n$/)
  assert.match(
    await refusal(pcc, ['config', 'brain', 'openai-compatible', '--url', 'nonsense', '--model', 'x', '--no-test']),
    /^error: command line: brain\.openai_compatible\.base_url: /,
  )
  assert.match(
    await refusal(pcc, ['add', 's-1', 'x', '--priority', '1.5']),
    /must be a whole number from -999999 to 999999, as in 10/,
  )
  assert.match(await refusal(pcc, ['daemon', 'strt']), /unknown command 'strt' \(did you mean start\?\)/)
  assert.match(await refusal(pcc, ['start', '.', '--task', 'x', '--max-turns', '0']), /must be a whole number above 0/)
  assert.match(
    await refusal(pcc, ['start', '.', '--task', 'x', '--priority', 'high']),
    /must be a whole number from -999999/,
  )
  assert.match(
    await refusal(pcc, ['resume', 's-1', '--form', 'x']),
    /unknown option '--form' \(did you mean --from\?\)/,
  )
  assert.match(await refusal(pcc, ['start', '.', '--task', 'x', '--fork']), /--fork needs --resume/)
  for (const flag of ['--allowed-tools', '--disallowed-tools'])
    for (const tools of ['Bash(rm *', 'Read,Bash(a', 'Bash(a))'])
      assert.match(
        await refusal(pcc, ['start', '.', '--task', 'x', flag, tools]),
        /argument '.*' is invalid\. A bracket is not closed/,
      )
  for (const args of [
    ['lst', '--help'],
    ['-h', 'lst'],
    ['task', 'lst', '--help'],
  ])
    assert.match(await refusal(pcc, args), /unknown command 'lst' \(did you mean list\?\)/)
  assert.match(await refusal(pcc, ['help', 'lst']), /unknown command 'lst' \(did you mean list\?\)/)
  assert.match(await refusal(pcc, ['completion', 'tcsh']), /Allowed choices are bash, zsh, fish/)
})

test('a command that needs a subcommand lists its subcommands', async t => {
  const pcc = pccFor(t)
  assert.equal(
    await refusal(pcc, ['config']),
    'error: pcc config needs to know what: show, get, set, reset, brain, path, trust, accept, secrets, notify or completion\n  next: See: pcc config --help\n',
  )
  assert.match(await refusal(pcc, ['daemon']), /needs to know what: start, stop, .* or [a-z]+\n/)
  assert.match(await refusal(pcc, ['agents']), /needs to know what: /)
})

test('a reference that cannot be a session is refused as an unknown session', async t => {
  const pcc = pccFor(t)
  await pcc.run(['daemon', 'start'])
  for (const command of ['status', 'attach', 'logs', 'pause', 'resume', 'retry', 'stop']) {
    for (const ref of ['', '..', ' ']) {
      const { code, stderr } = await pcc.run([command, ref])
      assert.equal(code, 2, command)
      assert.equal(stderr, `error: There is no session "${ref}".\n  next: See all sessions with: pcc list\n`)
    }
  }
})

test('output to a full disk is reported as an error', async t => {
  const pcc = pccFor(t)
  await using full = await open('/dev/full', 'w')
  const child = spawn(process.execPath, [BIN, '--help'], { env: pcc.env, stdio: ['ignore', full.fd, 'pipe'] })
  const [stderr] = await Promise.all([child.stderr ? text(child.stderr) : '', once(child, 'close')])
  assert.equal(child.exitCode, 1)
  assert.match(stderr, /^error: The output cannot be written: ENOSPC: [^\n]*\n {2}next: [^\n]*\n$/)
})

test('a project that is missing or a file, and a task that is empty, are refused before anything starts', async t => {
  const pcc = pccFor(t)
  const file = join(pcc.home, 'file.txt')
  writeFileSync(file, 'x')
  assert.match(
    await refusal(pcc, ['start', './nowhere', '--task', 'x']),
    /The project path \.\/nowhere does not exist\./,
  )
  assert.match(await refusal(pcc, ['start', file, '--task', 'x']), /file\.txt is not a directory\./)
  assert.match(await refusal(pcc, ['agents', 'sessions', '/nope']), /The project path \/nope does not exist\./)
  assert.match(await refusal(pcc, ['start', '.']), /The task is empty\./)
  assert.match(
    await refusal(pcc, ['start', '.', '--task', '  ']),
    /The task is empty\.\n {2}next: Say what to do: --task/,
  )
})

test('a requirements file that cannot be read, is not text or is empty is refused', async t => {
  const pcc = pccFor(t)
  const put = (name: string, content: string | Buffer) => {
    writeFileSync(join(pcc.home, name), content)
    return name
  }
  const start = (file: string) => refusal(pcc, ['start', '.', '--requirements', file])
  assert.match(await start('none.md'), /none\.md cannot be read: it does not exist\./)
  assert.match(await start('.'), /cannot be read: it is a directory\./)
  assert.match(await start(put('picture.md', Buffer.from([0x89, 0x50, 0xff, 0x00]))), /picture\.md is not text\./)
  assert.match(await start(put('zeros.md', 'a\0b')), /zeros\.md is not text\./)
  assert.match(await start(put('empty.md', ' \n')), /empty\.md is empty\./)
})

test('a requirements file that is invalid, has a dependency cycle or is done is refused before a daemon is started', async t => {
  const pcc = pccFor(t)
  const start = (name: string, content: string) => {
    writeFileSync(join(pcc.home, name), content)
    return refusal(pcc, ['start', '.', '--requirements', name])
  }
  assert.match(
    await start('a.yaml', 'tasks:\n  - description: a\n    priority: soon\n'),
    /line 3, tasks\.0\.priority: /,
  )
  const circle = 'tasks:\n- {id: a, description: a, depends_on: b}\n- {id: b, description: b, depends_on: a}\n'
  assert.match(await start('b.yaml', circle), /wait for each other: a \(line 2\) → b \(line 3\) → a\n/)
  assert.match(await start('c.md', '- [x] a\n- [x] b\n'), /c\.md, every task is already done \(2 of 2\)\./)
  const { socket } = appPathsFor({ env: pcc.env })
  assert.equal(existsSync(socket), false)
})

test('an invalid config file is refused with its line and key, and is not changed', async t => {
  const pcc = pccFor(t)
  const { configFile } = appPathsFor({ env: pcc.env })
  const wrong = '[sessions]\nmax_concurrent = "many"\n'
  mkdirSync(dirname(configFile), { recursive: true })
  writeFileSync(configFile, wrong)
  assert.match(await refusal(pcc, ['start', '.', '--task', 'x']), /config\.toml:2: sessions\.max_concurrent: /)
  const listed = await pcc.run(['list'])
  assert.equal(listed.code, 2, 'the daemon refuses it too, and its message is shown')
  assert.match(listed.stderr, /config\.toml:2: sessions\.max_concurrent: /)
  assert.equal(readFileSync(configFile, 'utf8'), wrong)
})

test('a file at the path of the socket is left alone and named in the error', async t => {
  const pcc = pccFor(t)
  const { socket } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(socket), { recursive: true })
  writeFileSync(socket, 'mine')
  const { code, stderr } = await pcc.run(['list'])
  assert.equal(code, 1)
  assert.match(stderr, /The socket path .*pcc\.sock is occupied by something that is not a socket of pcc/)
  assert.equal(readFileSync(socket, 'utf8'), 'mine')
})

test('with --json an error is one object on stderr', async t => {
  const pcc = pccFor(t)
  const { code, stdout, stderr } = await pcc.run(['start', './nowhere', '--task', 'x', '--json'])
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.deepEqual(JSON.parse(stderr), {
    error: {
      code: 'project_missing',
      message: 'The project path ./nowhere does not exist.',
      next: 'Give the path of an existing directory.',
    },
  })
})
