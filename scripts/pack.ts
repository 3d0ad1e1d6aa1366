import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './places.ts'

const INSTALL_TIMEOUT_MS = 300_000
/** npm's settings, without those about the folder of the npm that started this process. */
const NPM_NEEDS = new RegExp(
  `^(${[
    'PATH|HOME|LANG|TMPDIR',
    'npm_config_(?!(prefix|local_prefix|global|dry_run|json)$).*',
    'https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR',
  ].join('|')})$`,
  'i',
)

/** Packs a copy of the checkout, so that nobody else sees a dist/ that is being rebuilt. Returns the path of the tarball. */
export function pack(work: string): string {
  const copy = join(work, 'checkout')
  const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  for (const path of files.split('\0').filter(path => path !== '' && existsSync(join(ROOT, path)))) {
    cpSync(join(ROOT, path), join(copy, path))
  }
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  npm(['pack', '--pack-destination', work, '--loglevel=error'], copy)
  const [tarball] = readdirSync(work).filter(name => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error('npm pack made no tarball')
  return join(work, tarball)
}

/** The files of a tarball, by their paths in the package. */
export function filesIn(tarball: string): string[] {
  return execFileSync('tar', ['-tzf', tarball], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map(path => path.replace(/^package\//, ''))
}

/** Installs a tarball globally under a prefix of its own. */
export function install(tarball: string, prefix: string, cwd: string): void {
  // Another prefix would move npm's global settings, and with them the registry, so they stay where they are.
  const globalconfig = npm(['config', 'get', 'globalconfig'], cwd)
  const where = ['--global', '--prefix', prefix, '--globalconfig', globalconfig]
  npm(['install', tarball, ...where, '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], cwd)
}

/** Runs npm with only what it needs to reach the registry of this machine. */
function npm(args: string[], cwd: string): string {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => NPM_NEEDS.test(name)))
  const options = { cwd, env, encoding: 'utf8', timeout: INSTALL_TIMEOUT_MS } as const
  const { status, signal, stdout, stderr } = spawnSync('npm', args, options)
  if (status !== 0) throw new Error(`npm ${args[0]} failed (${signal ?? `exit ${status}`}):\n${stdout}\n${stderr}`)
  return stdout.trim()
}
