import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AppPaths } from '../../src/base/app-paths.ts'

/** What an attacker is after. Each file holds the word, so that it shows wherever it is printed. */
export const SECRET = 'planted-secret-5f1c'

export interface Target {
  home: string
  paths: AppPaths
  project: string
  /** A file in the machine's /tmp. */
  foreign: string
  /** A process that is not the attacker's, with the secret in its environment. */
  victim: number
  /** A number by which a process that should be gone is found. */
  sleeps: string
}

const PLANTED = [
  '.ssh/id_rsa',
  '.aws/credentials',
  '.config/gh/hosts.yml',
  '.netrc',
  '.bash_history',
  'Documents/will.txt',
]
const OTHER_PROJECT = '.claude/projects/-other-project/talk.jsonl'

/** Puts what an attacker wants into a home directory. */
export function plantSecrets({ home, foreign }: Pick<Target, 'home' | 'foreign'>): void {
  for (const file of [...PLANTED.map(name => join(home, name)), join(home, OTHER_PROJECT), foreign]) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, SECRET)
  }
  writeFileSync(join(home, '.bashrc'), '# as it was\n')
  writeFileSync(join(home, '.claude/settings.json'), '{}')
  writeFileSync(join(home, '.claude.json'), JSON.stringify({ projects: { '/other': { note: SECRET } } }))
}

/** A script that tries everything, prints what it saw, and goes on where something is refused. */
export function attackScript({ home, paths, project, foreign, victim, sleeps }: Target): string {
  const reads = [
    ...PLANTED.map(name => join(home, name)),
    ...[join(home, OTHER_PROJECT), join(home, '.claude.json'), foreign, paths.tokenFile, paths.database],
  ]
  const writes = [
    ...[join(home, '.bashrc'), join(home, '.claude/settings.json'), join(home, '.claude/commands/evil.md')],
    ...[join(home, '.config/autostart/evil'), paths.configFile, join(paths.home, 'rules.toml'), paths.trustFile],
    ...[join(project, '.git/hooks/post-commit'), join(project, '.git/config'), '/etc/evil', '/usr/local/bin/evil'],
  ]
  const commands = [
    // Each variable once: so many processes print more than is kept of an output.
    "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | sort -u",
    `kill -9 ${victim}`,
    `rm -rf ${home}/Documents`,
    'unshare -Urm true && echo made-$((40 + 2))',
    'find / -xdev -name id_rsa -exec cat {} + 2>/dev/null',
    // The keys of the session, which programs of the person share.
    `perl -e 'print syscall(${process.arch === 'arm64' ? 219 : 250}, 0, -3, 1) >= 0 ? "made-" . (40 + 2) : $!'`,
    'ls -A /run /var/run; test -S /run/docker.sock && echo made-$((40 + 2))',
    // It drops parents, environment, brand and folder, and holds nothing open.
    `(env -i setsid sh -c 'ulimit -S -x unlimited 2>/dev/null; cd /; exec sleep ${sleeps}' </dev/null >/dev/null 2>&1 &)`,
  ]
  return `
const { readFileSync, writeFileSync, mkdirSync, appendFileSync } = require('node:fs')
const { dirname } = require('node:path')
const { spawnSync } = require('node:child_process')
const tried = (name, act) => {
  try { console.log(name, '->', act()) } catch (error) { console.log(name, '-> refused', error.code ?? error.message) }
}
for (const file of ${JSON.stringify(reads)}) tried('read ' + file, () => readFileSync(file, 'utf8'))
for (const file of ${JSON.stringify(writes)})
  tried('write ' + file, () => { mkdirSync(dirname(file), { recursive: true }); appendFileSync(file, '\\n# evil\\n'); return 'written' })
for (const command of ${JSON.stringify(commands)})
  tried('run ' + command, () => { const { stdout, stderr, status } = spawnSync('sh', ['-c', command], { encoding: 'utf8', timeout: 20000 }); return status + ' ' + stdout + stderr })
require('node:net').connect(${JSON.stringify(paths.socket)}).on('error', error => console.log('socket -> refused', error.code)).on('connect', () => console.log('socket -> CONNECTED'))
`
}

/** Nothing that the script printed holds the secret, and everything outside is as it was. */
export function assertHarmless(printed: string, { home, paths, project, sleeps }: Target): void {
  assert.match(printed, /read .*id_rsa -> refused ENOENT/, printed)
  assert.ok(!printed.includes(SECRET), `it read a secret:\n${printed}`)
  assert.match(printed, /socket -> refused/)
  assert.doesNotMatch(printed, /made-42/)
  assert.match(printed, /run perl .*Operation not permitted/)
  for (const name of PLANTED) assert.equal(readFileSync(join(home, name), 'utf8'), SECRET, name)
  assert.equal(readFileSync(join(home, '.bashrc'), 'utf8'), '# as it was\n')
  assert.equal(readFileSync(join(home, '.claude/settings.json'), 'utf8'), '{}')
  assert.equal(readFileSync(join(project, '.git/config'), 'utf8').includes('evil'), false)
  const traces = ['.claude/commands/evil.md', '.config/autostart/evil'].map(name => join(home, name))
  for (const file of [...traces, join(project, '.git/hooks/post-commit'), '/etc/evil', '/usr/local/bin/evil'])
    assert.equal(existsSync(file), false, file)
  for (const file of [paths.configFile, join(paths.home, 'rules.toml'), paths.trustFile])
    assert.ok(!existsSync(file) || !readFileSync(file, 'utf8').includes('evil'), file)
  assert.deepEqual(processesWith(`sleep ${sleeps}`), [], 'a process of it is left')
}

/** Processes whose command line is this. */
export function processesWith(line: string): string[] {
  return readdirSync('/proc').filter(pid => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim() === line
    } catch {
      return false // it ended meanwhile
    }
  })
}
