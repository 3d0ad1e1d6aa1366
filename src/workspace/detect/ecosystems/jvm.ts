import { declared, type Ecosystem, firstOfEach, usual } from '../found.ts'

/** Java, Kotlin and others that Maven builds. */
export const maven: Ecosystem = async folder => {
  if (!folder.has('pom.xml')) return undefined
  const text = (await folder.text('pom.xml')) ?? ''
  const mvn = folder.has('mvnw') ? './mvnw -B' : 'mvn -B'
  return {
    ecosystem: 'jvm',
    manager: 'maven',
    manager_from: folder.first(['mvnw']) ?? 'pom.xml',
    commands: firstOfEach([
      usual('build', `${mvn} -DskipTests package`, 'pom.xml'),
      text.includes('checkstyle-maven-plugin') && declared('lint', `${mvn} checkstyle:check`, 'pom.xml'),
      text.includes('spotless-maven-plugin') && declared('format', `${mvn} spotless:check`, 'pom.xml'),
      usual('test', `${mvn} test`, 'pom.xml'),
    ]),
    members: [...text.matchAll(/<module>\s*([^<\s]+)\s*<\/module>/g)].map(match => match[1] ?? ''),
  }
}

/** Java, Kotlin and others that Gradle builds; what lies below its settings is built with it. */
export const gradle: Ecosystem = async folder => {
  const settings = folder.first(['settings.gradle.kts', 'settings.gradle'])
  const from = folder.first(['build.gradle.kts', 'build.gradle']) ?? settings
  if (from === undefined) return undefined
  const text = (await folder.text(from)) ?? ''
  const run = folder.has('gradlew') ? './gradlew' : 'gradle'
  return {
    ecosystem: 'jvm',
    manager: 'gradle',
    manager_from: folder.first(['gradlew']) ?? from,
    commands: firstOfEach([
      usual('build', `${run} assemble`, from),
      text.includes('detekt') && declared('lint', `${run} detekt`, from),
      text.includes('ktlint') && declared('lint', `${run} ktlintCheck`, from),
      text.includes('spotless') && declared('format', `${run} spotlessCheck`, from),
      usual('test', `${run} test`, from),
    ]),
    members: settings === undefined ? [] : ['**'],
  }
}
