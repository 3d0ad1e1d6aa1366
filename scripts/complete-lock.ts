import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './places.ts'

interface Entry {
  version?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

/**
 * A registry that does not have some platform's package makes npm leave it out of the lock file without a word, and
 * `npm ci` then refuses that lock file everywhere. This lists such packages as npm would have, with their platform read
 * from their name; only the checksum is missing, and it is needed on that platform alone.
 */
export function missingFromLock(packages: Record<string, Entry>): Record<string, Entry> {
  const missing: Record<string, Entry> = {}
  for (const { dev, optionalDependencies = {} } of Object.values(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (Object.keys(packages).some(path => path.endsWith(`node_modules/${name}`))) continue
      missing[`node_modules/${name}`] = { version, ...(dev && { dev }), optional: true, ...platformOf(name) }
    }
  }
  return missing
}

const SYSTEMS = ['aix', 'android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32']
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']

function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[/-]/)
  const os = SYSTEMS.filter(system => words.includes(system))
  const cpu = PROCESSORS.filter(processor => words.includes(processor))
  const musl = words.some(word => word.startsWith('musl'))
  const libc = musl ? ['musl'] : words.some(word => word.startsWith('gnu')) ? ['glibc'] : undefined
  return { os, cpu, ...(os.includes('linux') && libc && { libc }) }
}

/** Every lock file of the checkout, relative to it. */
export const LOCK_FILES = ['package-lock.json', 'test/agents/package-lock.json']

if (import.meta.main) for (const name of LOCK_FILES) complete(join(ROOT, name))

function complete(file: string): void {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Entry> }
  const packages = { ...lock.packages, ...missingFromLock(lock.packages) }
  const sorted = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(file, `${JSON.stringify({ ...lock, packages: sorted }, null, 2)}\n`)
}
