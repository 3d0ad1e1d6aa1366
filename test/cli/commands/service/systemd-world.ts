import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { BIN } from '../../../support/program.ts'
import { bareEnv, COMPILED, tempDir } from '../../../support/world.ts'

/** Where control groups of this test are made, by kind of hierarchy: systemd needs one that it owns. */
const ROOTS = existsSync('/sys/fs/cgroup/cgroup.procs')
  ? ['/sys/fs/cgroup']
  : ['systemd', 'unified'].map(name => `/sys/fs/cgroup/${name}`)

/** Runs in a new PID, mount and cgroup namespace: its /run and its control groups are nobody else's. */
const MOUNTS = `set -e
mount -t tmpfs tmpfs /run
if [ -e /sys/fs/cgroup/cgroup.procs ]; then
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
else
  mount -t tmpfs tmpfs /sys/fs/cgroup
  mkdir /sys/fs/cgroup/unified /sys/fs/cgroup/systemd
  mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
  mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
fi
`
const waitFor = (manager: string) =>
  `i=0; while ! ${manager} is-active basic.target >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 100 ] || exit 1; sleep 0.1; done; echo up`

const SETUP = {
  user: `${MOUNTS}
mkdir -p /run/systemd/system "$XDG_RUNTIME_DIR"
chmod 700 "$XDG_RUNTIME_DIR"
/lib/systemd/systemd --user --unit=basic.target --log-target=null &
${waitFor('systemctl --user')}
exec sleep 600`,
  // The first process of its namespace, as in a container. It knows no unit of this machine, so it starts nothing that would change it.
  system: `${MOUNTS}
mount -t tmpfs tmpfs /etc/systemd/system
for name in basic sysinit shutdown multi-user network-online; do
  printf '[Unit]\\nDefaultDependencies=no\\n' > /etc/systemd/system/$name.target
done
(${waitFor('systemctl')}) &
export container=pcc-test SYSTEMD_UNIT_PATH=/etc/systemd/system
exec /lib/systemd/systemd --system --unit=basic.target --log-target=null`,
}

export interface SystemdWorld {
  home: string
  env: Record<string, string>
  /** The words that run a program beside the service manager. */
  words(command: string, args: readonly string[]): string[]
  /** Runs a program there to its end. */
  inside(command: string, args: readonly string[], env?: Record<string, string>): Promise<Ran>
  pcc(...args: string[]): Promise<Ran>
  show(property: string): Promise<string>
}

interface Ran {
  code: number
  stdout: string
  stderr: string
}

/**
 * The real service manager of a user or of a system, in namespaces of its own; undefined where that cannot be made (an ordinary user,
 * or a machine without systemd's program). All its processes end with the test.
 */
export async function systemdWorld(
  t: TestContext,
  scope: 'user' | 'system' = 'user',
): Promise<SystemdWorld | undefined> {
  if (process.getuid?.() !== 0 || !existsSync('/lib/systemd/systemd')) return undefined
  const home = tempDir(t)
  const env = { ...bareEnv(home), XDG_RUNTIME_DIR: '/run/pcc-test', ...COMPILED }
  const groups = ROOTS.map(root => join(root, `pcc-test-${process.pid}-${Date.now()}`))
  try {
    for (const group of groups) mkdirSync(group)
    execFileSync('unshare', ['--pid', '--mount', '--cgroup', '--fork', 'true'], { stdio: 'ignore' })
  } catch {
    for (const group of groups) await removeGroups(group)
    return undefined
  }
  const enter = groups.map(group => `echo $$ > ${group}/cgroup.procs`).join(' && ')
  const script = `${enter} && exec unshare --pid --mount --cgroup --fork --mount-proc --kill-child sh -c "$SETUP"`
  const child = spawn('sh', ['-c', script], {
    env: { ...env, SETUP: SETUP[scope] },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
    for (const group of groups) await removeGroups(group)
  })
  const heard = await Promise.race([once(child.stdout, 'data').then(([data]) => String(data)), ended.then(() => '')])
  if (!heard.startsWith('up')) throw new Error('the service manager did not start')
  const [first = ''] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')
  const words = (command: string, args: readonly string[]) => {
    return ['nsenter', '--target', first, '--mount', '--pid', '--cgroup', '--', command, ...args]
  }
  const inside: SystemdWorld['inside'] = async (command, args, own = {}) => {
    const [program = '', ...rest] = words(command, args)
    try {
      const ran = await promisify(execFile)(program, rest, {
        env: { ...env, ...own },
        maxBuffer: 10_000_000,
        timeout: 60_000,
      })
      return { code: 0, ...ran }
    } catch (error) {
      const { code, stdout, stderr } = error as Ran
      return { code, stdout, stderr }
    }
  }
  return {
    home,
    env,
    words,
    inside,
    pcc: (...args) => inside(process.execPath, [BIN, ...args]),
    async show(property) {
      const unit = scope === 'user' ? ['--user', 'show', 'perpetualcc.service'] : ['show', 'perpetualcc-root.service']
      return (await inside('systemctl', [...unit, '-p', property, '--value'])).stdout.trim()
    },
  }
}

/** Its processes have been killed, but may still be ending. */
async function removeGroups(group: string): Promise<void> {
  if (!existsSync(group)) return
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) await removeGroups(join(group, entry.name))
  for (let tries = 0; tries < 200 && readFileSync(join(group, 'cgroup.procs'), 'utf8') !== ''; tries++) await sleep(20)
  rmdirSync(group)
}

/** A file of settings that shortens waits of the unit: people write such files with `systemctl edit`. */
export function shortenWaits(home: string, lines: readonly string[]): void {
  const folder = join(home, '.config/systemd/user/perpetualcc.service.d')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'fast.conf'), `[Service]\n${lines.join('\n')}\n`)
}
