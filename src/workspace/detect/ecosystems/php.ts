import { tableIn } from '../folder.ts'
import { type Ecosystem, firstOfEach, usual } from '../found.ts'
import { commandsIn } from '../scripts.ts'

/** PHP: composer. */
export const php: Ecosystem = async folder => {
  if (!folder.has('composer.json')) return undefined
  const manifest = await folder.json('composer.json')
  const scripts = Object.entries(tableIn(manifest, 'scripts')).map(
    ([name, body]) => [name, Array.isArray(body) ? body.join(' ') : String(body)] as const,
  )
  const known = { ...tableIn(manifest, 'require'), ...tableIn(manifest, 'require-dev') }
  const [unit, stan, fixer] = [
    folder.first(['phpunit.xml', 'phpunit.xml.dist']),
    folder.first(['phpstan.neon', 'phpstan.neon.dist', 'phpstan.dist.neon']),
    folder.first(['.php-cs-fixer.php', '.php-cs-fixer.dist.php']),
  ]
  return {
    ecosystem: 'php',
    manager: 'composer',
    manager_from: folder.first(['composer.lock']) ?? 'composer.json',
    commands: firstOfEach([
      usual('setup', 'composer install', 'composer.json'),
      ...commandsIn(new Map(scripts), {
        run: name => `composer run ${name}`,
        from: name => `composer.json: scripts.${name}`,
      }),
      stan !== undefined && usual('typecheck', 'vendor/bin/phpstan analyse', stan),
      folder.has('psalm.xml') && usual('typecheck', 'vendor/bin/psalm', 'psalm.xml'),
      folder.has('phpcs.xml') && usual('lint', 'vendor/bin/phpcs', 'phpcs.xml'),
      folder.has('pint.json') && usual('format', 'vendor/bin/pint --test', 'pint.json'),
      fixer !== undefined && usual('format', 'vendor/bin/php-cs-fixer fix --dry-run --diff', fixer),
      Object.hasOwn(known, 'pestphp/pest') && usual('test', 'vendor/bin/pest', 'composer.json'),
      unit !== undefined && usual('test', 'vendor/bin/phpunit', unit),
    ]),
  }
}
