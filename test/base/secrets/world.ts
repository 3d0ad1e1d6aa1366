import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type SecretSettings, Secrets, type SecretsOptions } from '../../../src/base/secrets/secrets.ts'
import { tempDir } from '../../support/world.ts'

/** A home with secrets, and a folder of programs that is first on the PATH. */
export function secretsWorld(t: TestContext, given: Partial<SecretSettings> = {}) {
  const home = tempDir(t)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  const settings: SecretSettings = { store: 'file', key: 'file', command: [], ...given }
  const env: Record<string, string> = { PATH: `${bin}:/usr/bin:/bin`, HOME: home }
  const clock = { ahead: 0 }
  const seen: string[] = []
  const failed: [string, string][] = []
  const open = (options: Partial<SecretsOptions> = {}) =>
    new Secrets({
      ...{ paths: { home }, env, settings: async () => settings, now: () => Date.now() + clock.ahead },
      ...{ seen: value => void seen.push(value), failed: (...told) => void failed.push(told), platform: 'linux' },
      ...options,
    })
  const program = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return { home, bin, env, settings, clock, seen, failed, open, program, vault: join(home, 'secrets', 'secrets.json') }
}

/**
 * A `secret-tool` with the behaviour of the real one: the value of `store` comes from standard input, `lookup` prints it without a
 * line end, and an entry that is not there ends with 1 and no words. A file `locked` makes every call wait for a person.
 */
export const SECRET_TOOL = `
dir="$HOME/keyring"; mkdir -p "$dir"; verb="$1"; shift
if [ -e "$dir/locked" ]; then echo "secret-tool: Cannot get secret of a locked object" >&2; exit 1; fi
case "$1" in --label=*) shift;; esac
[ "$1 $2" = "service perpetualcc" ] || exit 2
name="$6"
case "$verb" in
  store) cat > "$dir/$name" ;;
  lookup) [ -e "$dir/$name" ] || exit 1; cat "$dir/$name" ;;
  clear) [ -e "$dir/$name" ] || exit 1; rm "$dir/$name" ;;
esac`
