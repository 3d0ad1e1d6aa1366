import { type Ecosystem, firstOfEach, usual } from '../found.ts'

/** Ruby: bundler. */
export const ruby: Ecosystem = async folder => {
  const from = folder.first(['Gemfile.lock', 'Gemfile'])
  if (from === undefined) return undefined
  const rubocop = folder.first(['.rubocop.yml'])
  const isRails = folder.hasFolder('bin') && folder.has('config.ru') && folder.hasFolder('app')
  const hasSpecs = folder.has('.rspec') || folder.hasFolder('spec')
  return {
    ecosystem: 'ruby',
    manager: 'bundler',
    manager_from: from,
    commands: firstOfEach([
      usual('setup', 'bundle install', from),
      folder.hasFolder('sorbet') && usual('typecheck', 'bundle exec srb tc', 'sorbet/'),
      rubocop !== undefined && usual('lint', 'bundle exec rubocop', rubocop),
      hasSpecs && usual('test', 'bundle exec rspec', folder.has('.rspec') ? '.rspec' : 'spec/'),
      isRails && folder.hasFolder('test') && usual('test', 'bin/rails test', 'test/'),
      folder.has('Rakefile') && folder.hasFolder('test') && usual('test', 'bundle exec rake test', 'Rakefile'),
    ]),
  }
}
