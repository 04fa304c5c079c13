-- MariaDB dump 10.19  Distrib 10.11.6-MariaDB, for debian-linux-gnu (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
-- Server version	10.11.6-MariaDB-0+deb12u1

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*M!999999\- enable the sandbox mode */ 

--
-- Table structure for table `customers`
--

DROP TABLE IF EXISTS `customers`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!40101 SET character_set_client = utf8 */;
CREATE TABLE `customers` (
  `id` int(11) NOT NULL AUTO_INCREMENT,
  `name` varchar(255) NOT NULL DEFAULT '',
  `email` varchar(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  `kind` enum('a','b') NOT NULL DEFAULT 'a',
  `flags` set('x','y') DEFAULT NULL,
  `active` tinyint(1) NOT NULL DEFAULT 1,
  `amount` decimal(10,2) unsigned DEFAULT NULL,
  `big` bigint(20) unsigned NOT NULL,
  `data` longblob DEFAULT NULL,
  `doc` longtext CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(`doc`)),
  `created` timestamp NOT NULL DEFAULT current_timestamp() ON UPDATE current_timestamp(),
  `day` date DEFAULT NULL,
  `t` time(3) DEFAULT NULL,
  `y` year(4) DEFAULT NULL,
  `bits` bit(5) DEFAULT NULL,
  `total` decimal(12,2) GENERATED ALWAYS AS (`amount` * 2) VIRTUAL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u_email` (`email`),
  KEY `k_name` (`name`(10)),
  CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `other` (`id`) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci COMMENT='it''s';
/*!40101 SET character_set_client = @saved_cs_client */;

--
-- Temporary table structure for view `v`
--

DROP TABLE IF EXISTS `v`;
/*!50001 DROP VIEW IF EXISTS `v`*/;
SET @saved_cs_client     = @@character_set_client;
/*!50001 CREATE VIEW `v` AS SELECT
 1 AS `id`,
  1 AS `name` */;
SET character_set_client = @saved_cs_client;

/*!50003 CREATE*/ /*!50017 DEFINER=`root`@`localhost`*/ /*!50003 TRIGGER `tr` BEFORE INSERT ON `customers` FOR EACH ROW SET NEW.name = 'x' */;
DELIMITER ;;
/*!50003 CREATE TRIGGER t2 BEFORE UPDATE ON customers FOR EACH ROW BEGIN SET NEW.name = 'y'; END */;;
DELIMITER ;
/*!40111 SET SQL_NOTES=@OLD_SQL_NOTES */;

-- Dump completed on 2026-11-24 21:00:00
