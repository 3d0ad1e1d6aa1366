// An ESM import of a built-in reads all its exports, which the hot commands would pay for at every start.
const { readFileSync } = process.getBuiltinModule('node:fs')

/**
 * Whether a config file can possibly move the data directory, without reading it as TOML: the hot commands must not pay
 * for a parser. `look` means "ask resolvePlaces"; a false `look` only costs time, a false `default` would talk to
 * another daemon, so a backslash (the key may be written with escapes) and an unreadable file are `look` too.
 */
export function dataDirectoryHint(configFile: string): 'default' | 'look' {
  try {
    const text = readFileSync(configFile, 'utf8')
    return text.includes('directory') || text.includes('\\') ? 'look' : 'default'
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'ENOENT' ? 'default' : 'look'
  }
}
