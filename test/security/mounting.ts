// Starts sandboxes while somebody mounts and unmounts disks. It runs in a namespace of its own, in which it may mount: see planted-mounts.test.ts.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bubblewrapCommand } from '../../src/base/sandbox/bubblewrap.ts'
import { withLayers } from '../../src/base/sandbox/caches.ts'
import { comparingCommand } from '../../src/base/sandbox/mount-sources.ts'

const [home = '', bwrap = ''] = process.argv.slice(2)
const inner = join(home, 'project/inner')
const disks = ['a', 'b', 'c'].map(name => join(home, name))
const mount = (...args: string[]) => execFileSync('mount', args, { stdio: 'pipe' })
const unmount = (path: string) => execFileSync('umount', [path], { stdio: 'pipe' })

/** Starts a sandbox that hides the home directory; `meanwhile` happens after its mounts were looked at. */
function start(meanwhile: () => void): string {
  const binds = [join(home, 'project'), inner].flatMap(path => ['--bind', path, path])
  const args = ['--ro-bind', '/', '/', '--proc', '/proc', '--tmpfs', home, ...binds]
  const showing = ['/bin/sh', '-c', 'cat "$0" 2>&-; test -e /proc/self/fd/8 && echo open', join(home, 'key')]
  const inside = ['--unshare-user', ...args, '--', ...comparingCommand(args, [home], showing)]
  meanwhile()
  const made = bubblewrapCommand(bwrap, inside, undefined)
  const { status, stdout } = spawnSync(made.command, made.args, { encoding: 'utf8' })
  return `${status} ${stdout.trim()}`.trim()
}

function fill(): void {
  for (const folder of [inner, ...disks]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(home, 'key'), 'key')
}

fill()
const nothing = start(() => undefined)
const mounted = start(() => mount('--bind', join(home, 'project'), join(home, 'a')))
unmount(join(home, 'a'))
// Bubblewrap gets the numbers of these for its own.
for (const disk of disks) mount('-t', 'tmpfs', 'none', disk)
const unmounted = start(() => disks.forEach(unmount))
// The home directory becomes a disk of its own, as an encrypted one is.
mount('-t', 'tmpfs', 'none', home)
fill()
const linked = start(() => {
  renameSync(inner, `${inner}-aside`)
  symlinkSync('..', inner)
})

// As systems are set up: what is mounted shows up in namespaces that were made before.
mount('--make-rshared', '/')
const listing = [
  '--unshare-user',
  '--ro-bind',
  '/',
  '/',
  '--',
  '/bin/sh',
  '-c',
  'echo; read -r line; ls "$0"',
  disks[0] ?? '',
]
const made = withLayers(bubblewrapCommand(bwrap, listing, undefined), [], { scratch: home, canMount: true })
const running = spawn(made.command, made.args, { stdio: ['pipe', 'pipe', 'inherit'] })
await once(running.stdout, 'readable')
mount('-t', 'tmpfs', 'none', disks[0] ?? '')
writeFileSync(join(disks[0] ?? '', 'later'), '')
running.stdin.end('\n')
const later = (await text(running.stdout)).trim()
console.log(JSON.stringify({ nothing, mounted, unmounted, linked, later }))
